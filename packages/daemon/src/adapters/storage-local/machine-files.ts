import { join } from 'node:path';
import type { MachineFiles } from '../../ports/storage.ts';

/** Where the files of a machine are. */
export function machineFiles(machinesDir: string, id: string): MachineFiles {
  const dir = join(machinesDir, id);
  return { dir, rootDisk: join(dir, 'root.qcow2'), memory: join(dir, 'memory') };
}
