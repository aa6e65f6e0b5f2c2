import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { createSandbox } from '../harness/sandbox.ts';
import type { CreateBody, Sandbox } from '../harness/sandbox.ts';
import { Outside, OUTSIDE } from '../network/outside.ts';

const execute = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('throughput.py', import.meta.url));
const IN_GUEST = '/root/throughput.py';
const SECONDS = 'python3 -c "import time; print(time.monotonic())"';

/** Where the other end of a measurement of the network is. */
export const [SERVER] = OUTSIDE;

/** A daemon, with the other end of measurements beyond the uplink. */
export async function startMeasured(stack: AsyncDisposableStack): Promise<Daemon> {
  const outside = stack.use(await Outside.attach(`atoll-test-${process.pid}-out`));
  await outside.start(['python3', PROGRAM, 'serve', SERVER], 'ready');
  // The uplink has come after the set-up.
  await execute(process.execPath, ['host/network/setup.ts']);
  return Daemon.start();
}

/** A sandbox in which `measure` works. */
export async function createMeasured(daemon: Daemon, body: CreateBody): Promise<Sandbox> {
  const sandbox = await createSandbox(daemon.client, { mem_size_mib: 256, ...body });
  await daemon.client.call('PUT', `${sandbox.path}/files?path=${IN_GUEST}`, await readFile(PROGRAM));
  return sandbox;
}

/** Bytes or reads a second, as the guest itself measures them. */
export async function measure(sandbox: Sandbox, ...args: string[]): Promise<number> {
  return Number(await sandbox.sh(`python3 ${IN_GUEST} ${args.join(' ')}`));
}

/** Bytes a second of a dd with these operands. */
export async function diskRate(sandbox: Sandbox, dd: string, mib: number): Promise<number> {
  const times = await sandbox.sh(`${SECONDS}; dd ${dd} bs=1M count=${mib} 2>/dev/null; ${SECONDS}`);
  const [from, to] = times.split('\n').map(Number);
  return (mib * 1024 * 1024) / ((to ?? NaN) - (from ?? NaN));
}

const ATTEMPTS = 4;

/**
 * Within 15 %. No measurement may be above; one below is repeated, since a host that is busy with other things gives less than it
 * is asked for.
 */
export async function expectRate(wanted: number, measured: () => Promise<number>): Promise<void> {
  let actual = 0;
  for (let attempt = 0; attempt < ATTEMPTS && actual < wanted * 0.85; attempt += 1) {
    actual = await measured();
    expect(actual).toBeLessThan(wanted * 1.15);
  }
  expect(actual).toBeGreaterThan(wanted * 0.85);
}
