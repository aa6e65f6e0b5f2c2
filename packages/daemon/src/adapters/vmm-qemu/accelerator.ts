import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { Child, describeExit } from '../../lib/child.ts';
import type { Exit } from '../../lib/child.ts';
import { run } from '../../lib/run.ts';
import type { Accelerator } from '../../ports/vmm.ts';
import { accelerationArgs, BARE_ARGS, qemuBinary } from './argv.ts';

// A guest that runs at all prints its first line within 50 ms under KVM; a broken one spins in silence.
const SILENCE_MS = 1000;
// From the first line on it is only a matter of speed: 100 ms on a processor of today, seconds where KVM is nested.
const TRIAL_MS = 10_000;
// On a host that is slow or busy a guest is given as many times what QEMU takes to print its version: 15 ms on a processor of
// today. Where the host itself is emulated the first line takes ten times as long as that, and all of it a hundred times.
const SILENCE_VERSIONS = 40;
const TRIAL_VERSIONS = 200;
// One that got on in that time gets as much again: others may have come to use the host since its speed was measured.
const TRIAL_ROUNDS = 6;

// A kernel without a root disk comes all the way up to this, and then reboots, which ends QEMU.
const CAME_UP = 'Unable to mount root fs';
// Of what it says on the way, notices alone: each character takes a nested guest milliseconds.
const TRIAL_COMMAND_LINE =
  'console=ttyS0 loglevel=6 earlyprintk=serial,ttyS0 reboot=t panic=-1 no_timer_check root=/dev/none';

const Verdict = z.object({ key: z.string(), fault: z.string().nullable() });
type Verdict = z.output<typeof Verdict>;

/**
 * Decides what guests run on. `/dev/kvm` may be there, and open, and yet run no ordinary guest, so KVM is tried with one: the
 * guest kernel without a disk. The outcome is remembered in the state directory until host, QEMU or kernel change.
 * Rejects when KVM is demanded and does not work.
 */
export async function detectAccelerator(
  wanted: Accelerator | 'auto',
  kernel: string,
  stateDir: string,
  signal: AbortSignal,
): Promise<{ accelerator: Accelerator; kvmFault: string | undefined }> {
  if (wanted === 'tcg') return { accelerator: 'tcg', kvmFault: undefined };
  const fault = await rememberedTrial(kernel, join(stateDir, 'kvm-trial.json'), signal);
  if (fault === null) return { accelerator: 'kvm', kvmFault: undefined };
  if (wanted === 'kvm') throw new Error(`SERVICE_ACCEL=kvm: KVM does not work on this host: ${fault}`);
  return { accelerator: 'tcg', kvmFault: fault };
}

async function rememberedTrial(kernel: string, memory: string, signal: AbortSignal): Promise<string | null> {
  const key = await trialKey(kernel, signal);
  const remembered = await readVerdict(memory);
  if (remembered?.key === key) return remembered.fault;
  const fault = await tryKvm(kernel, signal);
  await writeFile(`${memory}.new`, JSON.stringify({ key, fault } satisfies Verdict));
  await rename(`${memory}.new`, memory);
  return fault;
}

/** What the outcome depends on: this boot of the host, access to the device, QEMU, and the kernel that is tried. */
async function trialKey(kernel: string, signal: AbortSignal): Promise<string> {
  const bootId = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  const device = await stat('/dev/kvm').catch(() => undefined);
  const { mtimeMs, size } = await stat(kernel);
  const qemu = await run(qemuBinary(), ['--version'], signal);
  const parts = [
    bootId,
    release(),
    device?.mode,
    device?.uid,
    device?.gid,
    process.getuid?.(),
    qemu,
    kernel,
    mtimeMs,
    size,
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

async function readVerdict(path: string): Promise<Verdict | undefined> {
  try {
    return Verdict.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined; // Never written, or not by us: the trial says it anew.
  }
}

/** Null when an ordinary guest comes up under KVM, else what went wrong. */
async function tryKvm(kernel: string, signal: AbortSignal): Promise<string | null> {
  let output = '';
  let exit: Exit | undefined;
  const cameUp = Promise.withResolvers<true>();
  const hear = (chunk: Buffer) => {
    output += chunk.toString('latin1');
    if (output.includes(CAME_UP)) cameUp.resolve(true);
  };
  const versionMs = await timeVersion(signal);
  const silenceMs = Math.max(SILENCE_MS, SILENCE_VERSIONS * versionMs);
  const roundMs = Math.max(TRIAL_MS, TRIAL_VERSIONS * versionMs);
  const dir = await mkdtemp(join(tmpdir(), 'atoll-kvm-'));
  try {
    const child = await Child.spawn(qemuBinary(), trialArgs(kernel), { cwd: dir, onOutput: hear });
    const over = Promise.race([child.exited.then(() => true as const), cameUp.promise]);
    try {
      const isOver = await within(over, silenceMs, signal);
      if (!isOver && !output.includes('Linux version'))
        return `a guest started and gave no sign of life within ${Math.ceil(silenceMs / 1000)} s`;
      for (let round = 0, said = 0; round < TRIAL_ROUNDS && output.length > said; round += 1) {
        said = output.length;
        if (await within(over, roundMs, signal)) break;
      }
    } finally {
      exit = child.exit;
      await child.kill();
    }
    if (output.includes(CAME_UP)) return null;
    const how = exit === undefined ? 'did not come up' : `ended (${describeExit(exit)})`;
    return `a trial guest ${how}: ${lastLine(output)}`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** How fast the host is just now: what QEMU takes to print its version, in milliseconds. */
async function timeVersion(signal: AbortSignal): Promise<number> {
  const start = performance.now();
  await run(qemuBinary(), ['--version'], signal);
  return performance.now() - start;
}

/** Waits for a promise, but not for ever: false then. The timer that is left over keeps no daemon from ending. */
async function within(promise: Promise<true>, ms: number, signal: AbortSignal): Promise<boolean> {
  return Promise.race([promise, sleep(ms, false, { signal, ref: false })]);
}

function trialArgs(kernel: string): string[] {
  return [
    ...['-name', 'atoll-kvm-trial', '-M', 'microvm,acpi=off,rtc=on'],
    ...accelerationArgs('kvm'),
    ...['-m', '64', '-smp', '1', ...BARE_ARGS],
    ...['-serial', 'stdio', '-kernel', kernel, '-append', TRIAL_COMMAND_LINE],
  ];
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1)?.trim() ?? '';
}

/**
 * Rate of the host's time stamp counter in kHz, where it can be known: in a virtual machine `cpu MHz` of /proc/cpuinfo is that
 * rate; on bare metal it is the momentary frequency, which is of no use, and the guest has to calibrate.
 */
export async function hostTscKhz(): Promise<number | undefined> {
  const cpuinfo = await readFile('/proc/cpuinfo', 'utf8');
  const flags = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1]?.split(' ') ?? [];
  if (!flags.includes('hypervisor') || !flags.includes('constant_tsc')) return undefined;
  const mhz = Number(/^cpu MHz\s*:\s*([\d.]+)$/m.exec(cpuinfo)?.[1]);
  return Number.isFinite(mhz) && mhz > 0 ? Math.round(mhz * 1000) : undefined;
}
