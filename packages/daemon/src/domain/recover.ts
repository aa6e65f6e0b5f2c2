import type { Logger } from 'pino';
import type { Network } from '../ports/network.ts';
import type { Storage } from '../ports/storage.ts';
import type { Vmm } from '../ports/vmm.ts';

/**
 * Clears what an earlier run left behind, before the first request: what exists minus what is recorded, and after a start no
 * machine is recorded. Machines first, since they use the network and the files.
 */
export async function recover(
  { vmm, network, storage }: { vmm: Vmm; network: Network; storage: Storage },
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const pids = await vmm.reclaim(storage.machinesDir);
  if (pids.length > 0) log.warn({ pids }, 'ended machines of an earlier run');
  await network.reclaim([], signal);
  for (const id of await storage.listMachines()) {
    await storage.removeMachine(id);
    log.warn({ sandbox_id: id }, 'removed the files of a machine of an earlier run');
  }
}
