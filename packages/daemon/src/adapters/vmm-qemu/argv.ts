import { arch } from 'node:process';
import type { RateLimit } from '../../ports/rate-limit.ts';
import type { Accelerator, MachineDrive, MachineSpec, Nic } from '../../ports/vmm.ts';

/** Names below a machine's directory. QEMU runs inside it, so that no path in its argv is too long for a socket. */
export const MACHINE_FILES = { agent: 'agent.sock', qmp: 'qmp.sock', state: 'state.sock' } as const;

/** What all machines of a daemon share. Paths are absolute. */
export interface GuestSettings {
  readonly kernel: string;
  readonly initramfs: string;
  readonly accelerator: Accelerator;
  /** Rate of the host's time stamp counter, which the emulator hands to its guests as it is. */
  readonly tscKhz: number | undefined;
}

/** QEMU's system emulator for the host's own architecture. */
export function qemuBinary(): string {
  if (arch !== 'x64')
    throw new Error(`no machine profile for ${arch}: this release runs x86-64 guests on x86-64 hosts`);
  return 'qemu-system-x86_64';
}

/** Nehalem has no ERMS and FSRM, which halve copies under emulation. */
export const EMULATED_CPU = 'Nehalem';

/** Arguments that choose how instructions are run. */
export function accelerationArgs(accelerator: Accelerator): string[] {
  return accelerator === 'kvm' ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', 'tcg', '-cpu', EMULATED_CPU];
}

/** How a machine comes to its state. */
export interface Origin {
  /** It waits, without running, for a state to be loaded. */
  readonly incoming: boolean;
  /** Maps this file's memory copy-on-write instead of a file of its own. */
  readonly frozenMemory?: string | undefined;
}

/** Nothing but what is asked for: no default devices, no user configuration, no display; a reboot ends the process. */
export const BARE_ARGS = ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'] as const;

/** QEMU's own seccomp filter. */
export const SECCOMP_ARGS = [
  '-sandbox',
  'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny',
] as const;

/**
 * The guest kernel's command line. A microvm without ACPI cannot power off: it reboots (by triple fault, the shortest way),
 * and `-no-reboot` turns that into an end. Under emulation TSC calibration fails on a loaded host, so the rate is given.
 */
export function kernelCommandLine({ accelerator, tscKhz }: GuestSettings): string {
  // Drivers that are built in make idle interfaces of their own accord; a sandbox shows those it uses.
  const noIdleLinks = 'dummy.numdummies=0 ifb.numifbs=0';
  const common = `console=ttyS0 quiet reboot=t panic=-1 no_timer_check root=/dev/vda rw ${noIdleLinks}`;
  if (accelerator === 'kvm') return common;
  // The emulated APIC timer runs at 1 GHz: measuring it takes 200 ms (guest/kernel/README.md). Without patching the kernel
  // for one processor a boot is 100 ms shorter.
  const emulated = `${common} lapic_timer_khz=1000000 noreplace-smp`;
  return tscKhz === undefined ? emulated : `${emulated} tsc_early_khz=${tscKhz} tsc=reliable`;
}

/** What a machine's process shows in its command line: the next daemon finds it by that. */
export function machineName(id: string): string {
  return `atoll-${id}`;
}

/** The whole command line of one machine's QEMU, without the program. Relative paths are taken from the machine's directory. */
export function machineArgs(
  spec: MachineSpec,
  guest: GuestSettings,
  origin: Origin = { incoming: false },
): string[] {
  return [
    ...['-name', machineName(spec.id)],
    ...['-M', 'microvm,acpi=off,rtc=on,memory-backend=mem'],
    ...accelerationArgs(guest.accelerator),
    ...['-m', String(spec.memSizeMib), '-smp', String(spec.vcpuCount)],
    ...BARE_ARGS,
    ...SECCOMP_ARGS,
    ...memoryArgs(spec, origin.frozenMemory),
    ...(origin.incoming ? ['-incoming', 'defer', '-S'] : []),
    ...['-kernel', guest.kernel, '-initrd', guest.initramfs, '-append', kernelCommandLine(guest)],
    ...['-serial', 'stdio'],
    ...diskArgs('root', spec.rootDisk, spec.rateLimit),
    ...(spec.drives ?? []).flatMap((drive, place) => driveArgs(`drive${place}`, drive, spec.rateLimit)),
    ...nicArgs(spec.nic),
    ...['-object', 'rng-random,id=entropy,filename=/dev/urandom', '-device', 'virtio-rng-device,rng=entropy'],
    ...['-chardev', `socket,id=agent,path=${MACHINE_FILES.agent},server=on,wait=off`],
    ...[
      '-device',
      'virtio-serial-device,id=serial',
      '-device',
      'virtserialport,bus=serial.0,chardev=agent,name=agent',
    ],
    ...[
      '-chardev',
      `socket,id=qmp,path=${MACHINE_FILES.qmp},server=on,wait=off`,
      '-mon',
      'chardev=qmp,mode=control',
    ],
  ];
}

/** Memory is a file mapped shared, so that a saved state need not hold it; a frozen file's is mapped copy-on-write. */
function memoryArgs({ memory, memSizeMib }: MachineSpec, frozen: string | undefined): string[] {
  const backing =
    frozen === undefined ? `mem-path=${escaped(memory)},share=on` : `mem-path=${escaped(frozen)},share=off`;
  return ['-object', `memory-backend-file,id=mem,size=${memSizeMib}M,${backing}`];
}

/** QEMU reads a comma in a value as the end of it, unless it is doubled. */
function escaped(path: string): string {
  return path.replaceAll(',', ',,');
}

/**
 * A tap that exists already. An announcement of QEMU's own after a restore would deadlock a guest that changes its card just
 * then, and nobody listens to it: the bridge knows where each card is.
 */
function nicArgs(nic: Nic | undefined): string[] {
  if (nic === undefined) return [];
  return [
    ...['-netdev', `tap,id=nic,ifname=${nic.tap},script=no,downscript=no`],
    ...['-device', `virtio-net-device,netdev=nic,mac=${nic.mac},guest_announce=off`],
  ];
}

/**
 * A disk that lives as long as its machine: `cache=unsafe` skips the host's fsync, which would only guard a throw-away
 * layer against a crash of the host, where the machine ends as well.
 */
function diskArgs(id: string, path: string, limit: RateLimit | undefined): string[] {
  return [
    ...[
      '-drive',
      `id=${id},file=${escaped(path)},format=qcow2,if=none,cache=unsafe,discard=unmap${throttling(limit)}`,
    ],
    ...['-device', `virtio-blk-device,drive=${id}`],
  ];
}

/**
 * A disk that outlives its machine: QEMU's own cache mode hands a flush of the guest on to the host's disk. What the host cannot
 * write is an error to the guest; a machine that stops instead would not answer any more.
 */
function driveArgs(id: string, drive: MachineDrive, limit: RateLimit | undefined): string[] {
  const access = drive.readOnly ? 'read-only=on' : 'discard=unmap';
  return [
    ...['-drive', `id=${id},file=${escaped(drive.path)},format=raw,if=none,${access}${throttling(limit)}`],
    ...['-device', `virtio-blk-device,drive=${id},serial=${drive.serial},werror=report,rerror=report`],
  ];
}

function throttling({ bandwidthBytesPerSec, opsPerSec }: RateLimit = {}): string {
  const bytes = bandwidthBytesPerSec === undefined ? '' : `,throttling.bps-total=${bandwidthBytesPerSec}`;
  return opsPerSec === undefined ? bytes : `${bytes},throttling.iops-total=${opsPerSec}`;
}
