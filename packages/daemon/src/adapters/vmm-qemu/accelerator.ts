import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { Child, describeExit } from '../../lib/child.ts';
import { run } from '../../lib/run.ts';
import type { Accelerator } from '../../ports/vmm.ts';
import { accelerationArgs, BARE_ARGS, qemuBinary } from './argv.ts';

// A guest that runs at all prints its first line within 50 ms under KVM; a broken one spins in silence.
const SILENCE_MS = 1000;
// From the first line on it is only a matter of speed: 100 ms on a processor of today, seconds where KVM is nested.
const TRIAL_MS = 10_000;

// A kernel without a root disk comes all the way up to this, and then reboots, which ends QEMU.
const CAME_UP = 'Unable to mount root fs';
const TRIAL_COMMAND_LINE =
  'console=ttyS0 earlyprintk=serial,ttyS0 reboot=t panic=-1 no_timer_check root=/dev/none';

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
  const dir = await mkdtemp(join(tmpdir(), 'atoll-kvm-'));
  try {
    const child = await Child.spawn(qemuBinary(), trialArgs(kernel), {
      cwd: dir,
      onOutput: (chunk) => (output += chunk.toString('latin1')),
    });
    try {
      await endsWithin(child, SILENCE_MS, signal);
      if (child.exit === undefined && !output.includes('Linux version'))
        return 'a guest started and gave no sign of life within a second';
      await endsWithin(child, TRIAL_MS, signal);
    } finally {
      await child.kill();
    }
    if (output.includes(CAME_UP)) return null;
    const how = child.exit === undefined ? 'did not come up' : `ended (${describeExit(child.exit)})`;
    return `a trial guest ${how}: ${lastLine(output)}`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Waits for a process to end, but not for ever. The timer that is left over keeps no daemon from ending. */
async function endsWithin(child: Child, ms: number, signal: AbortSignal): Promise<void> {
  await Promise.race([child.exited, sleep(ms, undefined, { signal, ref: false })]);
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
