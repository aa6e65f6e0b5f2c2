import { randomUUID } from 'node:crypto';
import type { EgressPolicy as RequestedPolicy } from '@atoll/contract/egress';
import type { RateLimit as RequestedLimit } from '@atoll/contract/rate-limit';
import type { CreateSandbox } from '@atoll/contract/sandboxes';
import { AtollError } from '../lib/errors.ts';
import type { Host } from '../ports/host.ts';
import type { EgressPolicy } from '../ports/network.ts';
import type { RateLimit } from '../ports/rate-limit.ts';
import type { Storage } from '../ports/storage.ts';
import type { Sandbox } from './sandbox.ts';
import { nowUnix } from './time.ts';

/** Sizes that a request may ask for, and those it gets when it asks for none. */
export interface Sizes {
  readonly vcpuCount: number;
  readonly maxVcpuCount: number;
  readonly memSizeMib: number;
  readonly maxMemSizeMib: number;
}

/** Below this the guest's kernel and agent do not come up: 26 MiB of kernel and initramfs, unpacked beside themselves. */
export const MIN_MEM_SIZE_MIB = 64;

const MIB = 1024 * 1024;

// A machine that boots and idles writes about 130 MiB of its memory file, whatever its size.
const DISK_RESERVE_BYTES = 256 * MIB;

// A machine at work has 7 threads beside one for each processor; disks may have more for a moment, and a jail is three processes.
const MONITOR_PROCESSES = 24;

/** Turns a request into the sandbox it asks for, within the daemon's limits. Throws INVALID_REQUEST. */
export function specify(request: CreateSandbox, sizes: Sizes, jailed: boolean): Sandbox {
  return {
    id: randomUUID(),
    name: request.name,
    tags: request.tags ?? {},
    createdAtUnix: nowUnix(),
    vcpuCount: within('vcpu_count', request.vcpu_count ?? sizes.vcpuCount, 1, sizes.maxVcpuCount),
    memSizeMib: within(
      'mem_size_mib',
      request.mem_size_mib ?? sizes.memSizeMib,
      MIN_MEM_SIZE_MIB,
      sizes.maxMemSizeMib,
    ),
    egress: request.egress && policyOf(request.egress),
    imageId: request.image_id,
    drives: (request.drives ?? []).map(({ id, read_only: readOnly = false }) => ({ id, readOnly })),
    rateLimit: request.rate_limit && limitOf(request.rate_limit),
    parentSnapshotId: undefined,
    isFork: false,
    jailed,
  };
}

function policyOf({ mode, allow_cidrs, deny_cidrs }: RequestedPolicy): EgressPolicy {
  return { mode, allowCidrs: allow_cidrs ?? [], denyCidrs: deny_cidrs ?? [] };
}

/** 0 is no limit. */
function limitOf({ bandwidth_bytes_per_sec, ops_per_sec }: RequestedLimit): RateLimit {
  return {
    bandwidthBytesPerSec: bandwidth_bytes_per_sec || undefined,
    opsPerSec: ops_per_sec || undefined,
  };
}

/** A size that a request asks for, if it may. Throws INVALID_REQUEST. */
export function within(field: string, value: number, min: number, max: number): number {
  if (value >= min && value <= max) return value;
  throw AtollError.of('INVALID_REQUEST', { field, problem: `takes ${min} to ${max}, got ${value}` });
}

/** What a start takes of the host, at most. */
interface Need {
  readonly memoryMib: number;
  readonly diskBytes: number;
  readonly processes: number;
}

const NOTHING: Need = { memoryMib: 0, diskBytes: 0, processes: 0 };

/**
 * Lets starts in as long as the host can carry them. What those under way may still take counts as taken, all of it: the host's own
 * figures show only what they have taken so far.
 */
export class Admission {
  readonly #host: Host;
  readonly #storage: Storage;
  readonly #starting = new Set<Need>();

  constructor(host: Host, storage: Storage) {
    this.#host = host;
    this.#storage = storage;
  }

  /**
   * Takes room for the start of a sandbox, to be given back when it is live or has failed. Throws INSUFFICIENT_MEMORY,
   * INSUFFICIENT_DISK or INSUFFICIENT_PROCESSES. `writtenBytes`: what its start writes for certain.
   */
  async take(
    { vcpuCount, memSizeMib }: Pick<Sandbox, 'vcpuCount' | 'memSizeMib'>,
    writtenBytes = 0,
  ): Promise<Disposable> {
    const need: Need = {
      memoryMib: memSizeMib,
      diskBytes: Math.max(DISK_RESERVE_BYTES, writtenBytes),
      processes: vcpuCount + MONITOR_PROCESSES,
    };
    const [memoryBytes, diskBytes, processes] = await Promise.all([
      this.#host.availableMemoryBytes(),
      this.#storage.freeBytes(),
      this.#host.freeProcesses(),
    ]);
    // Nothing is waited for from here on: of two starts one sees what the other took.
    this.#assertRoom(need, { memoryMib: Math.floor(memoryBytes / MIB), diskBytes, processes });
    this.#starting.add(need);
    return { [Symbol.dispose]: () => void this.#starting.delete(need) };
  }

  #assertRoom(need: Need, has: Need): void {
    const taken = [...this.#starting].reduce(plus, NOTHING);
    const freeMib = Math.max(0, has.memoryMib - taken.memoryMib);
    if (freeMib < need.memoryMib)
      throw AtollError.of('INSUFFICIENT_MEMORY', { needMib: need.memoryMib, freeMib });
    const freeBytes = Math.max(0, has.diskBytes - taken.diskBytes);
    const path = this.#storage.machinesDir;
    if (freeBytes < need.diskBytes)
      throw AtollError.of('INSUFFICIENT_DISK', { needBytes: need.diskBytes, freeBytes, path });
    const free = Math.max(0, has.processes - taken.processes);
    if (free < need.processes) throw AtollError.of('INSUFFICIENT_PROCESSES', { need: need.processes, free });
  }
}

function plus(a: Need, b: Need): Need {
  return {
    memoryMib: a.memoryMib + b.memoryMib,
    diskBytes: a.diskBytes + b.diskBytes,
    processes: a.processes + b.processes,
  };
}
