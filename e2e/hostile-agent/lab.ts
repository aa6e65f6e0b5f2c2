import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Answer, Client } from '../harness/client.ts';
import { Daemon } from '../harness/daemon.ts';
import { peakGrowth } from '../harness/host.ts';
import { createSandbox } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { host } from '../storage/files.ts';
import { Neighbour } from './neighbour.ts';

// The largest lie is 32 MiB, which its agent holds three times.
const SIZE = { mem_size_mib: 192, vcpu_count: 1 };

// What each attack may take of the daemon's memory, on top of what it has: an answer that is read whole is 16 MiB, and 32 MiB is what
// a session lets an agent send ahead. A daemon that keeps what it is sent needs gigabytes.
const MAX_GROWTH_BYTES = 512 * 1024 * 1024;

/** No call may take longer: 20 s is what it takes to give up an agent that says nothing. */
export const CALL_MS = 60_000;

// Opens its epoch in order, and lies when it is asked to.
const OPEN = 'ok';

/** A daemon, a sandbox whose agent lies (guest/agent/internal/hostile), and a neighbour of that. */
export class HostileLab implements AsyncDisposable {
  readonly daemon: Daemon;
  readonly client: Client;
  readonly sandbox: Sandbox;
  readonly #neighbour: Neighbour;
  readonly #stack: AsyncDisposableStack;

  private constructor(daemon: Daemon, neighbour: Neighbour, sandbox: Sandbox, stack: AsyncDisposableStack) {
    this.daemon = daemon;
    this.client = daemon.client;
    this.sandbox = sandbox;
    this.#neighbour = neighbour;
    this.#stack = stack;
  }

  static async start(): Promise<HostileLab> {
    await using stack = new AsyncDisposableStack();
    const initramfs = await host('bash', fileURLToPath(new URL('../guests/hostile.sh', import.meta.url)));
    const daemon = stack.use(
      await Daemon.start({
        SERVICE_INITRAMFS_PATH: initramfs.trim(),
        SERVICE_PREVIEW_TIMEOUT_SECS: '3',
        SERVICE_BOOT_TIMEOUT_SECS: '40',
      }),
    );
    const neighbour = stack.use(new Neighbour(await createSandbox(daemon.client, SIZE), CALL_MS));
    await registerImage(daemon.client, OPEN);
    const sandbox = await createHostile(daemon.client);
    return new HostileLab(daemon, neighbour, sandbox, stack.move());
  }

  /** Another sandbox whose agent lies. */
  again(): Promise<Sandbox> {
    return createHostile(this.client);
  }

  /** Asks for a sandbox whose agent does something else than to open an epoch, or does it behind that. */
  async openWith(lie: string): Promise<Answer> {
    await registerImage(this.client, lie);
    return this.client.call('POST', '/sandboxes', { ...SIZE, image_id: lie });
  }

  /** Runs a command that its agent lies about. */
  command(lie: string, sandbox = this.sandbox): Promise<Answer> {
    const signal = AbortSignal.timeout(CALL_MS);
    return sandbox.post('exec', { command: `@${lie}`, timeout_ms: 3000 }, { signal });
  }

  /** The status of an answer that is whole; one that breaks off is as good as an error. Rejects when nothing comes in time. */
  outcomeOf(path: string): Promise<number | 'cut off'> {
    const signal = AbortSignal.timeout(CALL_MS);
    return this.client.call('GET', `${this.sandbox.path}/${path}`, undefined, { signal }).then(
      ({ status }) => status,
      (error: unknown) => {
        signal.throwIfAborted();
        if (error instanceof TypeError) return 'cut off';
        throw error;
      },
    );
  }

  /** Does something, and checks what it took, that the daemon lives, and that the neighbour was answered to meanwhile and after. */
  async survives(attack: () => Promise<void>): Promise<void> {
    const before = this.#neighbour.answers;
    expect(await peakGrowth(this.daemon.pid, attack)).toBeLessThan(MAX_GROWTH_BYTES);
    this.daemon.assertRunning();
    await expect.poll(() => this.#neighbour.answers, { timeout: CALL_MS }).toBeGreaterThan(before + 1);
  }

  /** Checks that a session can be had again, with the truth in it. */
  async goesOn(): Promise<void> {
    const said = () => this.command('truth').then(({ status, text }) => (status === 200 ? 'well' : text));
    await expect.poll(said, { timeout: CALL_MS }).toBe('well');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Registers an image whose agent does what it is named after. */
async function registerImage(client: Client, name: string): Promise<void> {
  await using files = new AsyncDisposableStack();
  const dir = await mkdtemp('/var/tmp/atoll-hostile-');
  files.defer(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  const path = join(dir, 'image.ext4');
  await host('mke2fs', '-q', '-F', '-t', 'ext4', '-L', `h-${name}`, path, '8M');
  const { status, text } = await client.call('POST', '/images', { id: name, path });
  if (status !== 200) throw new Error(`${status} ${text}`);
}

function createHostile(client: Client): Promise<Sandbox> {
  return createSandbox(client, { ...SIZE, image_id: OPEN });
}
