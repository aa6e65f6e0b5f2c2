/** The nested machine: Debian 12 under QEMU's emulator, whose processor has AMD's virtualisation, so that KVM works in it. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child, describeExit } from '../../../packages/daemon/src/lib/child.ts';
import { run } from '../../../packages/daemon/src/lib/run.ts';
import { makeKey, quote, runOver, shareConnection } from './ssh.ts';
import type { Access, CommandOptions } from './ssh.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const BUILD = join(ROOT, 'packages/daemon/build/build.ts');
/** Where the checkout is in the machine. */
export const CHECKOUT = '/opt/atoll';

// Half a minute where nothing else runs; the processors may be shared.
const BOOT_MS = 300_000;
const RETRY_MS = 1000;
const CONSOLE_CHARACTERS = 3000;
const COMMAND_MS = 60_000;
// Packages may have to be downloaded for the disk.
const BUILD_MS = 1_200_000;

/** What is left out of the copy: the packages have a drive of their own. */
const NOT_COPIED = ['./.git', 'node_modules', '__pycache__', './bench/results', './release'];

export interface MachineOptions {
  /** Files of the host that are put into the machine's /mnt. */
  readonly files: readonly string[];
  readonly memSizeMib: number;
}

/** A machine that runs. Its drives forget what was written to them when it ends. */
export class NestedMachine implements AsyncDisposable {
  readonly access: Access;
  /** Resolves, with how, when the machine has ended. */
  readonly ended: Promise<string>;
  readonly #undo: AsyncDisposableStack;

  private constructor(access: Access, ended: Promise<string>, undo: AsyncDisposableStack) {
    this.access = access;
    this.ended = ended;
    this.#undo = undo;
  }

  /** Builds what it is made of where that is not cached, boots it and answers once it takes commands. */
  static async boot(options: MachineOptions, signal: AbortSignal): Promise<NestedMachine> {
    await using undo = new AsyncDisposableStack();
    const [disk = ''] = await build('build.sh', [], signal);
    const drives = await build('drives.sh', options.files, signal);
    const dir = await mkdtemp(join(tmpdir(), 'atoll-nested-'));
    undo.defer(() => rm(dir, { recursive: true, force: true }));
    const key = await makeKey(dir, signal);
    const access = { port: await freePort(), dir };
    const args = [
      ...machineArgs(options, access, [join(disk, 'rootfs.ext4'), ...drives]),
      ...kernelArgs(disk, key),
    ];
    let said = '';
    const child = await Child.spawn('qemu-system-x86_64', args, {
      cwd: dir,
      onOutput: (chunk) => (said += chunk.toString()),
    });
    undo.defer(() => child.kill());
    const ended = child.exited.then((exit) => `the machine ended with ${describeExit(exit)}: ${said.trim()}`);
    await answers(access, ended, signal);
    undo.use(shareConnection(access));
    if (options.files.length > 0) await mountFiles(access, signal);
    return new NestedMachine(access, ended, undo.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#undo.disposeAsync();
  }
}

/** Runs a program in a machine's copy of the checkout, as root, with the checkout's Node on PATH. Answers its exit code. */
export function runIn(access: Access, argv: readonly string[], options: CommandOptions): Promise<number> {
  const command = argv.map(quote).join(' ');
  const path = `${CHECKOUT}/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
  return runOver(access, `cd ${CHECKOUT} && exec env PATH=${path} LANG=C.UTF-8 ${command}`, options);
}

/** Copies the checkout as it is now, uncommitted changes and all, into a machine. */
export async function copyCheckout(access: Access, signal: AbortSignal): Promise<void> {
  await run(process.execPath, [BUILD], AbortSignal.any([signal, AbortSignal.timeout(COMMAND_MS)]));
  const tar = spawn('tar', ['-cf', '-', ...NOT_COPIED.map((name) => `--exclude=${name}`), '.'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  const isPacked = new Promise<boolean>((resolve, reject) => {
    tar.once('error', reject);
    tar.once('exit', (code) => resolve(code === 0));
  });
  const clear = `find ${CHECKOUT} -mindepth 1 -maxdepth 1 ! -name node_modules -exec rm -rf {} +`;
  const unpack = `${clear} && tar -xf - -C ${CHECKOUT} --no-same-owner`;
  const code = await runOver(access, unpack, { signal, input: tar.stdout });
  if (!(await isPacked) || code !== 0) throw new Error('the checkout could not be copied into the machine');
}

async function mountFiles(access: Access, signal: AbortSignal): Promise<void> {
  const code = await runOver(access, 'mount -o ro LABEL=nested-files /mnt', { signal });
  if (code !== 0) throw new Error('the files could not be mounted in the machine');
}

/** Runs one of the builds beside this file, and answers the paths that it prints. */
async function build(script: string, args: readonly string[], signal: AbortSignal): Promise<string[]> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(BUILD_MS)]);
  const child = spawn('bash', [fileURLToPath(new URL(script, import.meta.url)), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: limit,
    killSignal: 'SIGTERM',
  });
  let paths = '';
  child.stdout.on('data', (chunk: Buffer) => (paths += chunk.toString()));
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`e2e/nested/machine/${script} failed`);
  return paths.trim().split('\n');
}

function machineArgs({ memSizeMib }: MachineOptions, access: Access, drives: string[]): string[] {
  return [
    ...['-name', 'atoll-nested', '-M', 'q35', '-nodefaults', '-no-user-config', '-no-reboot'],
    // The processor that the emulator makes is AMD's, virtualisation included. One: of two, now and then one does not get out of a guest any
    // more (soft lockup), or meets code that the other has half changed (an int3).
    ...['-accel', 'tcg,thread=single', '-cpu', 'max', '-smp', '1', '-m', String(memSizeMib)],
    ...['-display', 'none', '-serial', `file:${join(access.dir, 'console')}`],
    ...drives.flatMap((path) => ['-drive', `file=${path},format=raw,if=virtio,snapshot=on,cache=unsafe`]),
    // It reaches nothing but itself.
    ...['-netdev', `user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:${access.port}-:22`],
    ...['-device', 'virtio-net-pci,netdev=n0', '-device', 'virtio-rng-pci'],
  ];
}

function kernelArgs(disk: string, key: string): string[] {
  // `norandmaps`: at addresses that change, each start of a program is translated anew (ADR 30); without, all takes a sixth less.
  const commandLine = `root=LABEL=nested-root rw console=ttyS0 quiet panic=-1 norandmaps nested.key=${key}`;
  return [...['-kernel', join(disk, 'vmlinuz'), '-initrd', join(disk, 'initrd.img'), '-append', commandLine]];
}

/** Waits until the machine takes commands. Rejects, with the end of its console, when it does not. */
async function answers(access: Access, ended: Promise<string>, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(BOOT_MS)]);
  let end: string | undefined;
  void ended.then((how) => (end = how));
  try {
    // `is-system-running` waits for the last unit; a unit that failed makes it no less usable for this.
    const probe = 'systemctl is-system-running --wait || systemctl --failed --no-legend';
    while ((await runOver(access, probe, { signal: limit, onOutput: () => undefined })) !== 0) {
      if (end !== undefined) throw new Error(end);
      await sleep(RETRY_MS, undefined, { signal: limit });
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`the machine does not take commands; ${await lastWords(access)}`, { cause: error });
  }
}

/** The end of a machine's console: what its kernel says when it cannot go on stands there. */
export async function lastWords({ dir }: Access): Promise<string> {
  const console = await readFile(join(dir, 'console'), 'utf8').catch(() => '');
  return `its console ends:\n${console.slice(-CONSOLE_CHARACTERS)}`;
}

/** A port on loopback that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
