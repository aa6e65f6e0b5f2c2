import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { openFds, peakGrowth } from './harness/host.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { Socket } from './harness/socket.ts';
import { host } from './storage/files.ts';

const SIZE = { mem_size_mib: 128, vcpu_count: 1 };
const PORT = 8000;

// What each attack may take of the daemon's memory, on top of what it has: an answer that is read whole is 16 MiB, and 32 MiB is what
// a session lets an agent send ahead. A daemon that keeps what it is sent needs gigabytes.
const MAX_GROWTH_BYTES = 512 * 1024 * 1024;

// No call may take longer: 20 s is what it takes to give up an agent that says nothing.
const CALL_MS = 60_000;

// Each is the name of something that guest/agent/internal/hostile does instead of opening an epoch, or behind it.
const OPENINGS = ['silent', 'noise', 'early', 'nonce', 'http1', 'mute'];

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
const SERVERS = [
  ...['web-garbage', 'web-endless', 'web-status', 'web-reason', 'web-value', 'web-both', 'web-length'],
  ...['web-chunk', 'web-100', 'web-103', 'web-101', 'web-never', 'web-two'],
];

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;
let neighbour: Neighbour;
let hostile: Sandbox;
/** Creates that fail meanwhile, each at the deadline of a boot. */
let unopened: Promise<Answer[]>;

beforeAll(async () => {
  const initramfs = await host('bash', fileURLToPath(new URL('guests/hostile.sh', import.meta.url)));
  daemon = stack.use(
    await Daemon.start({
      SERVICE_INITRAMFS_PATH: initramfs.trim(),
      SERVICE_PREVIEW_TIMEOUT_SECS: '3',
      SERVICE_BOOT_TIMEOUT_SECS: '40',
    }),
  );
  client = daemon.client;
  neighbour = stack.use(new Neighbour(await createSandbox(client, SIZE)));
  for (const name of ['ok', ...OPENINGS]) await registerImage(name);
  hostile = await createHostile();
  const creates = OPENINGS.map((name) => client.call('POST', '/sandboxes', { ...SIZE, image_id: name }));
  unopened = Promise.all(creates);
}, 300_000);

afterAll(async () => {
  await stack.disposeAsync();
}, 120_000);

/** An honest sandbox that is asked all the time. */
class Neighbour implements AsyncDisposable {
  readonly #sandbox: Sandbox;
  readonly #asking: Promise<void>;
  #stop = false;
  answers = 0;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
    this.#asking = this.#ask();
    this.#asking.catch(() => undefined);
  }

  async #ask(): Promise<void> {
    while (!this.#stop) {
      const signal = AbortSignal.timeout(CALL_MS);
      const { stdout } = await this.#sandbox.exec('echo', ['well'], {}, { signal });
      if (stdout !== 'well\n') throw new Error(`the neighbour said ${stdout}`);
      this.answers += 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop = true;
    await this.#asking;
    await this.#sandbox.destroy();
  }
}

async function registerImage(name: string): Promise<void> {
  await using files = new AsyncDisposableStack();
  const dir = await mkdtemp('/var/tmp/atoll-hostile-');
  files.defer(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  const path = join(dir, 'image.ext4');
  await host('mke2fs', '-q', '-F', '-t', 'ext4', '-L', `h-${name}`, path, '8M');
  const { status, text } = await client.call('POST', '/images', { id: name, path });
  if (status !== 200) throw new Error(`${status} ${text}`);
}

function createHostile(): Promise<Sandbox> {
  return createSandbox(client, { ...SIZE, image_id: 'ok' });
}

/** Takes a new one in the old one's place: an agent that lies for long comes to the end of its own memory. */
async function renew(): Promise<void> {
  await hostile.destroy();
  hostile = await createHostile();
}

/** Runs a command that its agent lies about. */
function command(lie: string, sandbox = hostile): Promise<Answer> {
  const signal = AbortSignal.timeout(CALL_MS);
  return sandbox.post('exec', { command: `@${lie}`, timeout_ms: 3000 }, { signal });
}

/** The status of an answer that is whole; one that breaks off is as good as an error. Rejects when nothing comes in time. */
function outcomeOf(path: string): Promise<number | 'cut off'> {
  const signal = AbortSignal.timeout(CALL_MS);
  return client.call('GET', path, undefined, { signal }).then(
    ({ status }) => status,
    (error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof TypeError) return 'cut off';
      throw error;
    },
  );
}

/** Does something, and checks what it took, that the daemon lives, and that the neighbour was answered to meanwhile and after. */
async function survives(attack: () => Promise<void>): Promise<void> {
  const before = neighbour.answers;
  expect(await peakGrowth(daemon.pid, attack)).toBeLessThan(MAX_GROWTH_BYTES);
  daemon.assertRunning();
  await expect.poll(() => neighbour.answers, { timeout: CALL_MS }).toBeGreaterThan(before + 1);
}

/** Checks that a session can be had again, with the truth in it. */
async function goesOn(): Promise<void> {
  const said = () => command('truth').then(({ status, text }) => (status === 200 ? 'well' : text));
  await expect.poll(said, { timeout: CALL_MS }).toBe('well');
}

describe('an agent that lies about a command', () => {
  it.each(COMMANDS)('%s', async (lie) => {
    await survives(async () => expectFailure(await command(lie), 502, 'SANDBOX_UNREACHABLE', hostile.id));
    await goesOn();
  });

  it('and never ends it is given up once its time is over', async () => {
    await survives(async () => {
      for (const answer of await Promise.all(['never', 'head-only', 'output'].map((lie) => command(lie))))
        expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', hostile.id);
    });
  });

  it('and sends its output in single bytes is understood', async () => {
    await survives(async () => {
      const { status, json } = await command('tiny-pieces');
      expect(status).toBe(200);
      expect((json as { stdout: string }).stdout).toBe('z'.repeat(128 * 1024));
    });
  });
});

describe('an agent that breaks HTTP/2', () => {
  it.each(SESSIONS)('%s', { timeout: 180_000 }, async (lie) => {
    await survives(async () => expectFailure(await command(lie), 502, 'SANDBOX_UNREACHABLE', hostile.id));
    await goesOn();
  });

  it.each(['mid-frame', 'goaway'])('%s, and then silence', { timeout: 180_000 }, async (lie) => {
    await survives(async () => {
      const signal = AbortSignal.timeout(CALL_MS);
      const answer = await hostile.post('mkdir', { path: `/@${lie}` }, { signal });
      expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', hostile.id);
    });
    await goesOn();
  });
});

describe('an agent that lies about files', () => {
  beforeAll(renew);

  it.each(LISTINGS)('%s', async (lie) => {
    await survives(async () => {
      const answer = await hostile.post('list-dir', { path: `/@${lie}` });
      expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', hostile.id);
    });
    await goesOn();
  });

  it.each([
    ['readlink', 'link-huge'],
    ['mkdir', 'refusal'],
  ])('%s %s', async (operation, lie) => {
    await survives(async () => {
      const answer = await hostile.post(operation, { path: `/@${lie}` });
      expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', hostile.id);
    });
  });

  it('and refuses with a word that is no errno', async () => {
    expectFailure(await hostile.post('mkdir', { path: '/@errno' }), 400, 'EIO');
  });

  it.each(CONTENTS)('%s', async (lie) => {
    await survives(async () => {
      // What has begun by then is cut off.
      const outcome = await outcomeOf(`${hostile.path}/files?path=/@${lie}`);
      expect([502, 'cut off']).toContain(outcome);
    });
    await goesOn();
  });

  it('and never answers is let go of by whoever asked', async () => {
    const before = await openFds(daemon.pid);
    const signal = AbortSignal.timeout(1000);
    const asked = Array.from({ length: 20 }, () =>
      hostile.post('mkdir', { path: '/@never' }, { signal }).catch(() => undefined),
    );
    await Promise.all(asked);
    await goesOn();
    await expect.poll(() => openFds(daemon.pid), { timeout: CALL_MS }).toBeLessThan(before + 10);
  });
});

describe('an agent that lies about connections', () => {
  beforeAll(renew);

  it.each(SERVERS)('a preview: %s', async (lie) => {
    await survives(async () => {
      const outcome = await outcomeOf(`${hostile.path}/preview/${PORT}/@${lie}`);
      expect([200, 502, 504, 'cut off']).toContain(outcome);
    });
    await goesOn();
  });

  it('a terminal', async () => {
    await survives(async () => {
      using terminal = await Socket.open(client.url, `${hostile.path}/pty?cols=600`);
      await terminal.closed;
    });
    await goesOn();
  });

  it.each([601, 602])('a tunnel: %d', async (port) => {
    await survives(async () => {
      const { status, json } = await hostile.post('tunnel', { port });
      if (status !== 200) return;
      const { tunnel_id: id } = json as { tunnel_id: string };
      using tunnel = await Socket.open(client.url, `${hostile.path}/tunnel/${id}/ws`, { raw: true });
      await Promise.race([tunnel.closed, new Promise((resolve) => setTimeout(resolve, 5000))]);
    });
    await goesOn();
  });
});

describe('an agent that lies at the beginning or at the end', () => {
  it('does not boot, and leaves nothing', { timeout: 180_000 }, async () => {
    await survives(async () => {
      for (const answer of await unopened) expectFailure(answer, 500, 'BOOT_FAILED');
    });
  });

  it('does not become a snapshot, and is destroyed', { timeout: 180_000 }, async () => {
    const armed = await createHostile();
    expect((await command('arm', armed)).status).toBe(200);
    await survives(async () =>
      expectFailure(await armed.post('snapshot', {}), 500, 'SNAPSHOT_FAILED', armed.id),
    );
    expect((await armed.destroy()).status).toBe(204);
  });

  it('is destroyed with calls open', async () => {
    const calls = Array.from({ length: 10 }, () => command('never'));
    expect((await hostile.destroy()).status).toBe(204);
    for (const answer of await Promise.all(calls)) expect([404, 502]).toContain(answer.status);
  });
});
