import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectFailure } from '../harness/failure.ts';
import { openFds } from '../harness/host.ts';
import { CALL_MS, HostileLab } from './lab.ts';

const LISTINGS = [
  ...[
    'list-up',
    'list-slash',
    'list-empty',
    'list-minus',
    'list-mode',
    'list-arrays',
    'list-deep',
    'list-wrong',
  ],
];
const CONTENTS = ['read-short', 'read-long', 'read-minus', 'read-word', 'read-most', 'reset'];

let lab: HostileLab;
beforeAll(async () => {
  lab = await HostileLab.start();
}, 300_000);
afterAll(() => lab[Symbol.asyncDispose](), 120_000);

describe('an agent that lies about files', () => {
  it.each(LISTINGS)('%s', async (lie) => {
    await lab.survives(async () => {
      const answer = await lab.sandbox.post('list-dir', { path: `/@${lie}` });
      expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', lab.sandbox.id);
    });
    await lab.goesOn();
  });

  it.each([
    ['readlink', 'link-huge'],
    ['mkdir', 'refusal'],
  ])('%s %s', async (operation, lie) => {
    await lab.survives(async () => {
      const answer = await lab.sandbox.post(operation, { path: `/@${lie}` });
      expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', lab.sandbox.id);
    });
    await lab.goesOn();
  });

  it('and refuses with a word that is no errno', async () => {
    expectFailure(await lab.sandbox.post('mkdir', { path: '/@errno' }), 400, 'EIO');
  });

  it.each(CONTENTS)('%s', async (lie) => {
    await lab.survives(async () => {
      // What has begun by then is cut off.
      const outcome = await lab.outcomeOf(`files?path=/@${lie}`);
      expect([502, 'cut off']).toContain(outcome);
    });
    await lab.goesOn();
  });

  it('and never answers is let go of by whoever asked', async () => {
    const before = await openFds(lab.daemon.pid);
    const signal = AbortSignal.timeout(1000);
    const asked = Array.from({ length: 20 }, () =>
      lab.sandbox.post('mkdir', { path: '/@never' }, { signal }).catch(() => undefined),
    );
    await Promise.all(asked);
    await lab.goesOn();
    await expect.poll(() => openFds(lab.daemon.pid), { timeout: CALL_MS }).toBeLessThan(before + 10);
  });
});
