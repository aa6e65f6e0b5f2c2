import { randomUUID } from 'node:crypto';
import type { EgressPolicy as RequestedPolicy } from '@atoll/contract/egress';
import type { RateLimit as RequestedLimit } from '@atoll/contract/rate-limit';
import type { CreateSandbox } from '@atoll/contract/sandboxes';
import { AtollError } from '../lib/errors.ts';
import { availableMemoryBytes } from '../lib/host-memory.ts';
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

/** Turns a request into the sandbox it asks for, within the daemon's limits. Throws INVALID_REQUEST. */
export function specify(request: CreateSandbox, sizes: Sizes): Sandbox {
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

/**
 * Throws INSUFFICIENT_MEMORY or INSUFFICIENT_DISK when the host cannot carry the sandbox now. `writtenBytes`: what its start
 * writes for certain.
 */
export async function assertRoom(sandbox: Sandbox, storage: Storage, writtenBytes = 0): Promise<void> {
  const freeMib = Math.floor((await availableMemoryBytes()) / MIB);
  if (freeMib < sandbox.memSizeMib) {
    throw AtollError.of('INSUFFICIENT_MEMORY', { needMib: sandbox.memSizeMib, freeMib });
  }
  const freeBytes = await storage.freeBytes();
  const needBytes = Math.max(DISK_RESERVE_BYTES, writtenBytes);
  if (freeBytes < needBytes) {
    throw AtollError.of('INSUFFICIENT_DISK', { needBytes, freeBytes, path: storage.machinesDir });
  }
}
