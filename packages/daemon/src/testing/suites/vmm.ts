import { randomUUID } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Deadline } from '../../lib/deadline.ts';
import type { Storage } from '../../ports/storage.ts';
import type { Machine, MachineSpec, Vmm } from '../../ports/vmm.ts';
import { patient } from '../patience.ts';

export interface VmmUnderTest extends AsyncDisposable {
  readonly vmm: Vmm;
  readonly storage: Storage;
  /** Whether a process of that id runs. */
  readonly runs: (pid: number) => boolean;
}

const BOOT_MS = patient(60_000);

/** A machine that ends with the block that has it. */
function owned(machine: Machine): Machine & AsyncDisposable {
  return Object.assign(machine, { [Symbol.asyncDispose]: () => machine.stop() });
}

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

    test('limits are taken off the drives there are, also where there are none', async () => {
      using deadline = Deadline.in(BOOT_MS, 'the limits');
      const spec = await specify();
      const drives = ['a', 'b'].map((serial) => ({ path: `${spec.dir}/${serial}`, serial, readOnly: false }));
      for (const { path } of drives) await writeFile(path, Buffer.alloc(1024 * 1024));
      await using limited = owned(await boot({ ...spec, drives, rateLimit: { opsPerSec: 100 } }));
      await limited.liftDriveLimits(deadline);
      await using bare = owned(await boot(await specify()));
      await bare.liftDriveLimits(deadline);
    });

    test('a paused machine is saved, and can still go on', async () => {
      const spec = await specify();
      await using machine = owned(await boot(spec));
      using deadline = Deadline.in(BOOT_MS, 'the saving');
      await machine.pause(deadline);
      const state = join(spec.dir, 'state');
      expect(await machine.save(state, deadline)).toEqual({ holdsMemory: false });
      expect((await stat(state)).size).toBeGreaterThan(0);
      expect((await stat(spec.memory)).size).toBe(spec.memSizeMib * 1024 * 1024);
      await machine.resume(deadline);
      await machine.pause(deadline);
      await expect(machine.save(state, deadline)).rejects.toThrow('EEXIST');
    });

    test('a saved machine is loaded with its own memory, or with a frozen one that stays as it is', async () => {
      const spec = await specify();
      using deadline = Deadline.in(BOOT_MS, 'saving and loading');
      const state = join(spec.dir, 'state');
      {
        await using machine = owned(await boot(spec));
        await machine.pause(deadline);
        await machine.save(state, deadline);
      }
      {
        await using forked = owned(await it.vmm.prepare(await specify(), spec.memory, deadline));
        await forked.load({ file: state, holdsMemory: false }, deadline);
        await forked.pause(deadline);
        const whole = join(spec.dir, 'whole');
        expect(await forked.save(whole, deadline)).toEqual({ holdsMemory: true });
        await using fresh = owned(await it.vmm.prepare(await specify(), undefined, deadline));
        await fresh.load({ file: whole, holdsMemory: true }, deadline);
      }
      await using resumed = owned(await it.vmm.prepare(spec, undefined, deadline));
      await resumed.load({ file: state, holdsMemory: false }, deadline);
      await resumed.resume(deadline);
      expect(it.runs(resumed.pid)).toBe(true);
    });

    test('a state that is none is refused', async () => {
      using deadline = Deadline.in(BOOT_MS, 'the load');
      const spec = await specify();
      await using machine = owned(await it.vmm.prepare(spec, undefined, deadline));
      const none = { file: join(spec.dir, 'none'), holdsMemory: false };
      await expect(machine.load(none, deadline)).rejects.toThrow('ENOENT');
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
