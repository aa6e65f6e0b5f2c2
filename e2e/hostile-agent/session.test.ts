import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../harness/client.ts';
import { expectFailure } from '../harness/failure.ts';
import { CALL_MS, HostileLab } from './lab.ts';

// Each is the name of something that guest/agent/internal/hostile does instead of opening an epoch, or behind it.
const OPENINGS = ['silent', 'noise', 'early', 'nonce', 'http1', 'fault', 'mute'];

const COMMANDS = [
  ...['garbage', 'huge-frame', 'no-exit', 'exit-type', 'exit-range', 'exit-minus', 'exit-json'],
  ...['reset', 'status-999', 'status-word', 'status-none', 'status-100s'],
];
const SESSIONS = [
  ...['head-huge', 'head-many', 'head-endless', 'head-bomb', 'head-compressed'],
  ...[
    'pings',
    'settings',
    'resets',
    'empties',
    'unknown',
    'window',
    'window-over',
    'push',
    'too-long',
    'close',
    'streams',
  ],
];

let lab: HostileLab;
/** Creates that fail meanwhile, each at the deadline of a boot. */
let unopened: Promise<Answer[]>;

beforeAll(async () => {
  lab = await HostileLab.start();
  unopened = Promise.all(OPENINGS.map((lie) => lab.openWith(lie)));
}, 300_000);
afterAll(() => lab[Symbol.asyncDispose](), 120_000);

describe('an agent that lies about a command', () => {
  it.each(COMMANDS)('%s', async (lie) => {
    await lab.survives(async () =>
      expectFailure(await lab.command(lie), 502, 'SANDBOX_UNREACHABLE', lab.sandbox.id),
    );
    await lab.goesOn();
  });

  it('and never ends it is given up once its time is over', async () => {
    await lab.survives(async () => {
      for (const answer of await Promise.all(['never', 'head-only', 'output'].map((lie) => lab.command(lie))))
        expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', lab.sandbox.id);
    });
  });

  it('and sends its output in single bytes is understood', async () => {
    await lab.survives(async () => {
      const { status, json } = await lab.command('tiny-pieces');
      expect(status).toBe(200);
      expect((json as { stdout: string }).stdout).toBe('z'.repeat(128 * 1024));
    });
  });
});

describe('an agent that breaks HTTP/2', () => {
  it.each(SESSIONS)('%s', { timeout: 180_000 }, async (lie) => {
    await lab.survives(async () =>
      expectFailure(await lab.command(lie), 502, 'SANDBOX_UNREACHABLE', lab.sandbox.id),
    );
    await lab.goesOn();
  });

  it.each(['mid-frame', 'goaway'])('%s, and then silence', { timeout: 180_000 }, async (lie) => {
    await lab.survives(async () => {
      const signal = AbortSignal.timeout(CALL_MS);
      const answer = await lab.sandbox.post('mkdir', { path: `/@${lie}` }, { signal });
      expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', lab.sandbox.id);
    });
    await lab.goesOn();
  });
});

describe('an agent that lies at the beginning or at the end', () => {
  it('does not boot, and leaves nothing', { timeout: 180_000 }, async () => {
    await lab.survives(async () => {
      for (const answer of await unopened) expectFailure(answer, 500, 'BOOT_FAILED');
    });
  });

  it('does not become a snapshot, and is destroyed', { timeout: 180_000 }, async () => {
    const armed = await lab.again();
    expect((await lab.command('arm', armed)).status).toBe(200);
    await lab.survives(async () =>
      expectFailure(await armed.post('snapshot', {}), 500, 'SNAPSHOT_FAILED', armed.id),
    );
    expect((await armed.destroy()).status).toBe(204);
  });

  it('is destroyed with calls open', async () => {
    const calls = Array.from({ length: 10 }, () => lab.command('never'));
    expect((await lab.sandbox.destroy()).status).toBe(204);
    for (const answer of await Promise.all(calls)) expect([404, 502]).toContain(answer.status);
  });
});
