import type { Logger } from 'pino';
import type { History } from '../ports/history.ts';
import type { Network } from '../ports/network.ts';
import type { Storage } from '../ports/storage.ts';
import type { Vmm } from '../ports/vmm.ts';
import { nowUnix } from './time.ts';

/**
 * Clears what an earlier run left behind, before the first request: what exists minus what is recorded, and after a start no
 * machine is recorded. Machines first, since they use the network and the files.
 */
export async function recover(
  ports: { vmm: Vmm; network: Network; storage: Storage; history: History },
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { vmm, network, storage, history } = ports;
  const pids = await vmm.reclaim(storage.machinesDir);
  if (pids.length > 0) log.warn({ pids }, 'ended machines of an earlier run');
  await network.reclaim([], signal);
  const orphans = history.orphanLive(nowUnix());
  if (orphans > 0) log.warn({ sandboxes: orphans }, 'sandboxes of an earlier run are orphaned');
  for (const id of await storage.listMachines()) {
    await storage.removeMachine(id);
    log.warn({ sandbox_id: id }, 'removed the files of a machine of an earlier run');
  }
}
