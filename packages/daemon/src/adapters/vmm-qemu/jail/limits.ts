/** What a jail is measured from: the machine's size. */
export interface MachineSize {
  readonly vcpuCount: number;
  readonly memSizeMib: number;
}

/** What all jails of a daemon are given beyond their machine's size. */
export interface JailAllowance {
  /** Memory of the monitor itself, above its guest's. */
  readonly memoryOverheadMib: number;
  /** Bytes that each virtual processor may have read, and as many written, per second; 0: no limit. */
  readonly ioBytesPerSecond: number;
}

const MIB = 1024 * 1024;
const CPU_PERIOD_US = 100_000;

// QEMU's own threads: its loop, RCU, the balloon's and the display's none, and a pool of up to 64 for disks (util/thread-pool.c).
const MONITOR_THREADS = 96;

// What the kernel gives to a group of processes of its own: cpu.weight of cgroup v2 goes from 1 to 10,000.
const WEIGHT_A_PROCESSOR = 100;
const MAX_WEIGHT = 10_000;

// qcow2 keeps 8 bytes for each cluster of 64 KiB, and counts; a disk's file is never larger than its disk and this share of it.
const METADATA_SHARE = 1024n;
const FILE_RESERVE_BYTES = 64n * 1024n * 1024n;

/**
 * Files of cgroup v2 and what is written to them (the kernel's admin-guide/cgroup-v2.rst). `disk`: the numbers of the block device under
 * the machine's files, if there is one.
 */
export function cgroupLimits(
  { vcpuCount, memSizeMib }: MachineSize,
  { memoryOverheadMib, ioBytesPerSecond }: JailAllowance,
  disk: string | undefined,
): Readonly<Record<string, string>> {
  const bytes = ioBytesPerSecond * vcpuCount;
  const io = disk === undefined || bytes === 0 ? {} : { 'io.max': `${disk} rbps=${bytes} wbps=${bytes}` };
  return {
    'memory.max': String((memSizeMib + memoryOverheadMib) * MIB),
    'memory.swap.max': '0',
    'memory.oom.group': '1',
    'cpu.max': `${vcpuCount * CPU_PERIOD_US} ${CPU_PERIOD_US}`,
    'cpu.weight': String(Math.min(MAX_WEIGHT, vcpuCount * WEIGHT_A_PROCESSOR)),
    'pids.max': String(vcpuCount + MONITOR_THREADS),
    ...io,
  };
}

/** Options of prlimit (util-linux). `largestDisk`: bytes of the largest disk or memory file that the machine may write. */
export function resourceLimits(largestDisk: bigint): string[] {
  const file = largestDisk + largestDisk / METADATA_SHARE + FILE_RESERVE_BYTES;
  const limits = { core: 0n, fsize: file, nofile: 512n, memlock: 0n, msgqueue: 0n, sigpending: 256n };
  return Object.entries(limits).map(([name, limit]) => `--${name}=${limit}:${limit}`);
}
