import { access, truncate, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Deadline } from '../lib/deadline.ts';
import type { Machine, MachineSpec, SavedState, Vmm, VmmProfile } from '../ports/vmm.ts';

/** Machines in memory; `vmm.contract.ts` holds it to what the real one does. */
export class FakeVmm implements Vmm {
  profile: VmmProfile = { monitor: 'fake 1.0', accelerator: 'tcg', cpu: 'fake', kernel: '00' };
  readonly jailed: boolean;
  readonly machines = new Map<string, FakeMachine>();
  #nextPid = 1;

  constructor(jailed = false) {
    this.jailed = jailed;
  }

  async boot(spec: MachineSpec, deadline: Deadline): Promise<Machine> {
    await writeFile(spec.memory, '', { flag: 'a' });
    await truncate(spec.memory, spec.memSizeMib * 1024 * 1024);
    return this.#start(spec, true, deadline);
  }

  async prepare(spec: MachineSpec, frozenMemory: string | undefined, deadline: Deadline): Promise<Machine> {
    return this.#start(spec, frozenMemory === undefined, deadline);
  }

  async #start(spec: MachineSpec, ownMemory: boolean, deadline: Deadline): Promise<Machine> {
    deadline.signal.throwIfAborted();
    await access(spec.rootDisk);
    for (const { path } of spec.drives ?? []) await access(path);
    const machine = new FakeMachine(this.#nextPid++, join(spec.dir, 'agent.sock'), ownMemory);
    this.machines.set(spec.dir, machine);
    void machine.exited.then(() => {
      if (this.machines.get(spec.dir) === machine) this.machines.delete(spec.dir);
    });
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
  paused = false;
  limitsLifted = false;
  readonly #ownMemory: boolean;
  readonly #end: (reason: string) => void;
  #ended = false;

  constructor(pid: number, agentSocket: string, ownMemory = true) {
    this.pid = pid;
    this.agentSocket = agentSocket;
    this.#ownMemory = ownMemory;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.exited = promise;
    this.#end = resolve;
  }

  console(): string {
    return '';
  }

  pause(): Promise<void> {
    return Promise.try(() => {
      this.#assertThere();
      this.paused = true;
    });
  }

  resume(): Promise<void> {
    return Promise.try(() => {
      this.#assertThere();
      this.paused = false;
    });
  }

  async save(file: string): Promise<{ holdsMemory: boolean }> {
    this.#assertThere();
    await writeFile(file, 'a state', { flag: 'wx' });
    return { holdsMemory: !this.#ownMemory };
  }

  async load({ file }: SavedState): Promise<void> {
    this.#assertThere();
    await access(file);
  }

  liftDriveLimits(): Promise<void> {
    return Promise.try(() => {
      this.#assertThere();
      this.limitsLifted = true;
    });
  }

  async stop(): Promise<void> {
    this.crash('its VM ended (signal SIGKILL)');
    await this.exited;
  }

  /** Ends as a machine does that nobody asked to. */
  crash(reason: string): void {
    this.#ended = true;
    this.#end(reason);
  }

  #assertThere(): void {
    if (this.#ended) throw new Error('the monitor closed its control socket');
  }
}
