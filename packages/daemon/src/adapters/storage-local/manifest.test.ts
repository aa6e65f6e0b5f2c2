import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MANIFEST, readManifest, writeManifest } from './manifest.ts';

const FILES = { memory_bytes: 4096, state_bytes: 17, state_sha256: null };
const LEASE = { mac: '02:00:0a:d5:00:05', address: '10.213.0.5', prefix_length: 16, gateway: '10.213.0.1' };
const MANIFEST_OF_THEN = {
  format: 1,
  id: '0b0e5c86-6f4f-4d83-9d3e-0a3a6b0e9a11',
  created_at_unix: 1,
  retired_at_unix: 2,
  source_sandbox_id: '5f4d9b5e-11f1-4a6c-8f1c-2f7d1c8a2b10',
  parent_snapshot_id: null,
  name: null,
  tags: {},
  vcpu_count: 1,
  mem_size_mib: 64,
  egress: null,
  image_id: null,
  drives: [],
  rate_limit: null,
  lease: { slot: 3, tap: 'atoll-3', ...LEASE },
  vmm: { monitor: 'm', accelerator: 'tcg', cpu: 'c', kernel: 'k' },
  agent_generation: 3,
  files: FILES,
};

it('reads the network identity of a manifest that names a device, and writes none', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'atoll-test-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, MANIFEST), JSON.stringify(MANIFEST_OF_THEN));
  const described = await readManifest(dir);
  expect(described.number).toBe(0);
  expect(described.record.identity).toEqual({
    ...{ mac: LEASE.mac, address: LEASE.address },
    ...{ prefixLength: LEASE.prefix_length, gateway: LEASE.gateway },
  });
  await writeManifest(dir, described);
  expect(await readManifest(dir)).toEqual(described);
  expect(JSON.parse(await readFile(join(dir, MANIFEST), 'utf8'))).toMatchObject({ lease: LEASE });
  expect(await readFile(join(dir, MANIFEST), 'utf8')).not.toContain('atoll-3');
});
