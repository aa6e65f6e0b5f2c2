import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Deadline } from '../../lib/deadline.ts';
import type { Storage } from '../../ports/storage.ts';
import type { Machine, MachineSpec, Vmm } from '../../ports/vmm.ts';

export interface VmmUnderTest extends AsyncDisposable {
  readonly vmm: Vmm;
  readonly storage: Storage;
  /** Whether a process of that id runs. */
  readonly runs: (pid: number) => boolean;
}

const BOOT_MS = 60_000;

/** What every Vmm keeps. */
export function vmmSuite(name: string, setUp: () => Promise<VmmUnderTest>): void {
  describe(name, () => {
    let it: VmmUnderTest;
    beforeAll(async () => {
      it = await setUp();
    });
    afterAll(() => it[Symbol.asyncDispose]());

    async function specify(): Promise<MachineSpec> {
      using deadline = Deadline.in(BOOT_MS, 'the disk');
      const id = randomUUID();
      const files = await it.storage.createMachine(id, deadline.signal);
      return { id, ...files, vcpuCount: 1, memSizeMib: 128 };
    }

    async function boot(spec: MachineSpec): Promise<Machine> {
      using deadline = Deadline.in(BOOT_MS, 'the boot');
      return await it.vmm.boot(spec, deadline);
    }

    test('a machine runs until it is stopped, and says how it ended', async () => {
      const machine = await boot(await specify());
      expect(it.runs(machine.pid)).toBe(true);
      await machine.stop();
      expect(it.runs(machine.pid)).toBe(false);
      expect(await machine.exited).toContain('SIGKILL');
    });

    test('stopping twice, and at once, is harmless', async () => {
      const machine = await boot(await specify());
      await Promise.all([machine.stop(), machine.stop()]);
      await machine.stop();
      expect(it.runs(machine.pid)).toBe(false);
    });

    test('a machine without its disk is refused, and leaves no process', async () => {
      const spec = await specify();
      await expect(boot({ ...spec, rootDisk: join(spec.dir, 'none.qcow2') })).rejects.toThrow('none.qcow2');
      expect(await it.vmm.reclaim(it.storage.machinesDir)).toEqual([]);
    });

    test('a boot that was given up leaves no process', async () => {
      const spec = await specify();
      using deadline = Deadline.in(BOOT_MS, 'the boot', AbortSignal.abort(new Error('given up')));
      await expect(it.vmm.boot(spec, deadline)).rejects.toThrow('given up');
      expect(await it.vmm.reclaim(it.storage.machinesDir)).toEqual([]);
    });

    test('what runs below a directory is reclaimed, and nothing else', async () => {
      const machine = await boot(await specify());
      expect(await it.vmm.reclaim(join(it.storage.machinesDir, 'elsewhere'))).toEqual([]);
      expect(it.runs(machine.pid)).toBe(true);
      expect(await it.vmm.reclaim(it.storage.machinesDir)).toEqual([machine.pid]);
      expect(await machine.exited).toContain('SIGKILL');
      expect(it.runs(machine.pid)).toBe(false);
    });
  });
}
