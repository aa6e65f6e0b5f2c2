import { rename, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { SnapshotRecord } from '../../ports/snapshots.ts';

export const MANIFEST = 'manifest.json';

// A later form of the file gets a later number; what is optional in one form stays so.
const FORMAT = 1;

const Count = z.int().nonnegative();

// What is more is no size of a machine; what is no address would be something else on QEMU's command line.
const Vcpus = z.int().min(1).max(1024);
const MemoryMib = z.int().min(1).max(1_048_576);
const Mac = z.string().regex(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/);
const Cidrs = z.array(z.cidrv4());

/** `manifest.json` of a snapshot's directory: its record, and what its files have to look like. */
const Manifest = z.object({
  format: z.literal(FORMAT),
  id: z.uuid(),
  number: Count.optional(),
  created_at_unix: Count,
  retired_at_unix: Count.nullable(),
  archived_at_unix: Count.nullable().optional(),
  pinned: z.boolean().optional(),
  source_sandbox_id: z.uuid(),
  parent_snapshot_id: z.uuid().nullable(),
  name: z.string().nullable(),
  tags: z.record(z.string(), z.string()),
  pool_id: z.string().nullable().optional(),
  vcpu_count: Vcpus,
  mem_size_mib: MemoryMib,
  egress: z
    .object({
      mode: z.enum(['allow_all', 'deny_all']),
      allow_cidrs: Cidrs,
      deny_cidrs: Cidrs,
    })
    .nullable(),
  image_id: z.string().nullable(),
  drives: z.array(z.object({ id: z.uuid(), read_only: z.boolean(), content_mark: z.string().optional() })),
  mounts: z
    .array(
      z.object({
        id: z.string(),
        bucket: z.string(),
        endpoint: z.string(),
        mount_path: z.string(),
        read_only: z.boolean(),
      }),
    )
    .default([]),
  rate_limit: z
    .object({ bandwidth_bytes_per_sec: Count.nullable(), ops_per_sec: Count.nullable() })
    .nullable(),
  // Some name a device as well, which says nothing: any will do.
  lease: z.object({
    mac: Mac,
    address: z.ipv4(),
    prefix_length: z.int().min(0).max(32),
    gateway: z.ipv4(),
  }),
  vmm: z.object({
    monitor: z.string(),
    accelerator: z.enum(['kvm', 'tcg']),
    cpu: z.string(),
    kernel: z.string(),
  }),
  agent_generation: Count,
  files: z.object({
    /** Null: the state holds the memory. */
    memory_bytes: Count.nullable(),
    state_bytes: Count,
    /** Null for a state that holds the memory, which is too long to be read twice. */
    state_sha256: z.string().nullable(),
  }),
});
type Manifest = z.output<typeof Manifest>;

/** What the files of a snapshot have to look like. */
export type FileSizes = Manifest['files'];

/** What a manifest says. */
export interface Described {
  readonly record: SnapshotRecord;
  /** Its place among the snapshots of its store, which the second it was taken in does not say. 0: from before they were numbered. */
  readonly number: number;
  readonly files: FileSizes;
}

/** Reads the manifest of a snapshot's directory. Rejects with ENOENT when there is none. */
export async function readManifest(dir: string): Promise<Described> {
  const manifest = Manifest.parse(JSON.parse(await readFile(join(dir, MANIFEST), 'utf8')));
  return { record: toRecord(manifest), number: manifest.number ?? 0, files: manifest.files };
}

/** Writes a manifest in one step: a reader finds the old one or the new one, whole. */
export async function writeManifest(dir: string, described: Described): Promise<void> {
  const draft = join(dir, `${MANIFEST}.draft`);
  await writeFile(draft, JSON.stringify(toManifest(described), null, 1), { mode: 0o600, flush: true });
  await rename(draft, join(dir, MANIFEST));
}

function toRecord(manifest: Manifest): SnapshotRecord {
  const { egress, lease, rate_limit: limit } = manifest;
  return {
    id: manifest.id,
    createdAtUnix: manifest.created_at_unix,
    retiredAtUnix: manifest.retired_at_unix ?? undefined,
    pinned: manifest.pinned,
    archivedAtUnix: manifest.archived_at_unix ?? undefined,
    sourceSandboxId: manifest.source_sandbox_id,
    parentSnapshotId: manifest.parent_snapshot_id ?? undefined,
    name: manifest.name ?? undefined,
    tags: manifest.tags,
    poolId: manifest.pool_id ?? undefined,
    vcpuCount: manifest.vcpu_count,
    memSizeMib: manifest.mem_size_mib,
    egress: egress
      ? { mode: egress.mode, allowCidrs: egress.allow_cidrs, denyCidrs: egress.deny_cidrs }
      : undefined,
    imageId: manifest.image_id ?? undefined,
    // One that was not marked passes for written since.
    drives: manifest.drives.map(({ id, read_only: readOnly, content_mark: contentMark = '' }) => ({
      ...{ id, readOnly, contentMark },
    })),
    mounts: manifest.mounts.map(({ mount_path: mountPath, read_only: readOnly, ...mount }) => ({
      ...mount,
      mountPath,
      readOnly,
    })),
    rateLimit: limit
      ? {
          bandwidthBytesPerSec: limit.bandwidth_bytes_per_sec ?? undefined,
          opsPerSec: limit.ops_per_sec ?? undefined,
        }
      : undefined,
    identity: {
      mac: lease.mac,
      address: lease.address,
      prefixLength: lease.prefix_length,
      gateway: lease.gateway,
    },
    vmm: manifest.vmm,
    agentGeneration: manifest.agent_generation,
  };
}

function toManifest({ record, number, files }: Described): Manifest {
  const { egress, identity, rateLimit: limit } = record;
  return {
    format: FORMAT,
    id: record.id,
    number,
    created_at_unix: record.createdAtUnix,
    retired_at_unix: record.retiredAtUnix ?? null,
    pinned: record.pinned,
    archived_at_unix: record.archivedAtUnix ?? null,
    source_sandbox_id: record.sourceSandboxId,
    parent_snapshot_id: record.parentSnapshotId ?? null,
    name: record.name ?? null,
    tags: { ...record.tags },
    pool_id: record.poolId ?? null,
    vcpu_count: record.vcpuCount,
    mem_size_mib: record.memSizeMib,
    egress: egress
      ? { mode: egress.mode, allow_cidrs: [...egress.allowCidrs], deny_cidrs: [...egress.denyCidrs] }
      : null,
    image_id: record.imageId ?? null,
    drives: record.drives.map(({ id, readOnly, contentMark }) => ({
      ...{ id, read_only: readOnly, content_mark: contentMark },
    })),
    mounts: record.mounts.map(({ id, bucket, endpoint, mountPath, readOnly }) => ({
      id,
      bucket,
      endpoint,
      mount_path: mountPath,
      read_only: readOnly,
    })),
    rate_limit: limit
      ? { bandwidth_bytes_per_sec: limit.bandwidthBytesPerSec ?? null, ops_per_sec: limit.opsPerSec ?? null }
      : null,
    lease: {
      mac: identity.mac,
      address: identity.address,
      prefix_length: identity.prefixLength,
      gateway: identity.gateway,
    },
    vmm: { ...record.vmm },
    agent_generation: record.agentGeneration,
    files,
  };
}
