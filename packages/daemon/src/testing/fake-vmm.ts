import { access } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Deadline } from '../lib/deadline.ts';
import type { Accelerator, Machine, MachineSpec, Vmm } from '../ports/vmm.ts';

/** Machines in memory; `vmm.contract.ts` holds it to what the real one does. */
export class FakeVmm implements Vmm {
  readonly accelerator: Accelerator = 'tcg';
  readonly machines = new Map<string, FakeMachine>();

  async boot(spec: MachineSpec, deadline: Deadline): Promise<Machine> {
    deadline.signal.throwIfAborted();
    await access(spec.rootDisk);
    const machine = new FakeMachine(this.machines.size + 1, join(spec.dir, 'agent.sock'));
    this.machines.set(spec.dir, machine);
    void machine.exited.then(() => this.machines.delete(spec.dir));
    return machine;
  }

  async reclaim(machinesDir: string): Promise<readonly number[]> {
    const mine = [...this.machines].filter(([dir]) => dir.startsWith(machinesDir + sep));
    for (const [, machine] of mine) await machine.stop();
    return mine.map(([, machine]) => machine.pid);
  }
}

export class FakeMachine implements Machine {
  readonly pid: number;
  readonly agentSocket: string;
  readonly exited: Promise<string>;
  readonly #end: (reason: string) => void;

  constructor(pid: number, agentSocket: string) {
    this.pid = pid;
    this.agentSocket = agentSocket;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.exited = promise;
    this.#end = resolve;
  }

  console(): string {
    return '';
  }

  async stop(): Promise<void> {
    this.crash('its VM ended (signal SIGKILL)');
    await this.exited;
  }

  /** Ends as a machine does that nobody asked to. */
  crash(reason: string): void {
    this.#end(reason);
  }
}
