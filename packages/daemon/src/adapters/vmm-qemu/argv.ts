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

/** What the emulator keeps of translated code in a jail, whose memory is limited; QEMU's own choice is up to 1 GiB. */
export const JAILED_TB_MIB = 256;

/** Arguments that choose how instructions are run. */
export function accelerationArgs(accelerator: Accelerator, tbMib?: number): string[] {
  if (accelerator === 'kvm') return ['-accel', 'kvm', '-cpu', 'host'];
  return ['-accel', tbMib === undefined ? 'tcg' : `tcg,tb-size=${tbMib}`, '-cpu', EMULATED_CPU];
}

/** How a machine comes to its state. */
export interface Origin {
  /** It waits, without running, for a state to be loaded. */
  readonly incoming: boolean;
  /** Maps this file's memory copy-on-write instead of a file of its own. */
  readonly frozenMemory?: string | undefined;
  /** In a jail it opens no socket and no tap, but is handed them as these descriptors. */
  readonly handed?: HandedDescriptors | undefined;
}

/** Descriptors that a monitor finds open when it starts. */
export interface HandedDescriptors {
  readonly tap: number;
  readonly agent: number;
  readonly qmp: number;
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
  // What each of them saves under emulation: guest/kernel/README.md, and ADR 30, 33 and 34.
  const faster = 'lapic_timer_khz=1000000 noreplace-smp norandmaps keep_initmem GODEBUG=asyncpreemptoff=1';
  const emulated = `${common} ${faster}`;
  return tscKhz === undefined ? emulated : `${emulated} tsc_early_khz=${tscKhz} tsc=reliable`;
}

/** What a machine's process shows in its command line: the next daemon finds it by that. */
export function machineName(id: string): string {
  return `atoll-${id}`;
}

/** What the control socket knows a drive's device by; drives are counted from 0, in the order of the specification. */
export function driveDevice(unit: number): string {
  return `unit${unit}`;
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
    ...accelerationArgs(guest.accelerator, origin.handed && JAILED_TB_MIB),
    ...['-m', String(spec.memSizeMib), '-smp', String(spec.vcpuCount)],
    ...BARE_ARGS,
    ...SECCOMP_ARGS,
    ...memoryArgs(spec, origin.frozenMemory),
    ...(origin.incoming ? ['-incoming', 'defer', '-S'] : []),
    ...['-kernel', guest.kernel, '-initrd', guest.initramfs, '-append', kernelCommandLine(guest)],
    ...['-serial', 'stdio'],
    ...diskArgs('root', spec.rootDisk, spec.rateLimit),
    ...drivesArgs(spec.drives ?? [], spec.rateLimit),
    ...nicArgs(spec.nic, origin.handed?.tap),
    ...['-object', 'rng-random,id=entropy,filename=/dev/urandom', '-device', 'virtio-rng-device,rng=entropy'],
    ...['-chardev', `socket,id=agent,${listening(MACHINE_FILES.agent, origin.handed?.agent)}`],
    ...[
      '-device',
      'virtio-serial-device,id=serial',
      '-device',
      'virtserialport,bus=serial.0,chardev=agent,name=agent',
    ],
    ...[
      '-chardev',
      `socket,id=qmp,${listening(MACHINE_FILES.qmp, origin.handed?.qmp)}`,
      '-mon',
      'chardev=qmp,mode=control',
    ],
  ];
}

/** A socket that waits for the daemon. */
function listening(name: string, handed: number | undefined): string {
  return `${handed === undefined ? `path=${name}` : `fd=${handed}`},server=on,wait=off`;
}

/**
 * Memory is a file mapped shared, so that a saved state need not hold it; a frozen file's is mapped copy-on-write. It begins where a huge page
 * may: a host whose file system keeps files in such pages maps one at a time then, instead of going through all of it for each small one
 * that the guest touches first (ADR 34).
 */
function memoryArgs({ memory, memSizeMib }: MachineSpec, frozen: string | undefined): string[] {
  const backing =
    frozen === undefined ? `mem-path=${escaped(memory)},share=on` : `mem-path=${escaped(frozen)},share=off`;
  return ['-object', `memory-backend-file,id=mem,size=${memSizeMib}M,align=2M,${backing}`];
}

/** QEMU reads a comma in a value as the end of it, unless it is doubled. */
function escaped(path: string): string {
  return path.replaceAll(',', ',,');
}

/**
 * A tap that exists already. An announcement of QEMU's own after a restore would deadlock a guest that changes its card just
 * then, and nobody listens to it: the bridge knows where each card is.
 */
function nicArgs(nic: Nic | undefined, handed: number | undefined): string[] {
  if (nic === undefined) return [];
  const tap = handed === undefined ? `ifname=${nic.tap},script=no,downscript=no` : `fd=${handed}`;
  return [
    ...['-netdev', `tap,id=nic,${tap}`],
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
 * All drives are units of one SCSI controller, since a microvm without ACPI has eight slots for virtio devices. Without drives
 * there is no controller.
 */
function drivesArgs(drives: readonly MachineDrive[], limit: RateLimit | undefined): string[] {
  if (drives.length === 0) return [];
  return [
    ...['-device', 'virtio-scsi-device,id=drives'],
    ...drives.flatMap((drive, unit) => driveArgs(unit, drive, limit)),
  ];
}

/**
 * A disk that outlives its machine: QEMU's own cache mode hands a flush of the guest on to the host's disk. What the host cannot
 * write is an error to the guest; a machine that stops instead would not answer any more.
 */
function driveArgs(unit: number, drive: MachineDrive, limit: RateLimit | undefined): string[] {
  const id = `drive${unit}`;
  const place = `id=${driveDevice(unit)},bus=drives.0,scsi-id=0,lun=${unit}`;
  const access = drive.readOnly ? 'read-only=on' : 'discard=unmap';
  return [
    ...['-drive', `id=${id},file=${escaped(drive.path)},format=raw,if=none,${access}${throttling(limit)}`],
    ...['-device', `scsi-hd,${place},drive=${id},serial=${drive.serial},werror=report,rerror=report`],
  ];
}

function throttling({ bandwidthBytesPerSec, opsPerSec }: RateLimit = {}): string {
  const bytes = bandwidthBytesPerSec === undefined ? '' : `,throttling.bps-total=${bandwidthBytesPerSec}`;
  return opsPerSec === undefined ? bytes : `${bytes},throttling.iops-total=${opsPerSec}`;
}
