import type { Host } from '../ports/host.ts';

const GIB = 1024 ** 3;

/** A host that has as much left as a test says. */
export class FakeHost implements Host {
  memoryBytes = 1024 * GIB;
  processes = 1_000_000;

  availableMemoryBytes(): Promise<number> {
    return Promise.resolve(this.memoryBytes);
  }

  freeProcesses(): Promise<number> {
    return Promise.resolve(this.processes);
  }
}
