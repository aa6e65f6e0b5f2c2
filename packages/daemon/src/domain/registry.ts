import { EventEmitter, once } from 'node:events';
import { AtollError } from '../lib/errors.ts';
import type { Running, Sandbox } from './sandbox.ts';
import { assertTransition } from './state.ts';
import type { SandboxState } from './state.ts';

interface Entry {
  readonly sandbox: Sandbox;
  state: SandboxState;
  running?: Running;
  /** On the clock of `performance.now`. */
  liveSince: number;
  lostBecause?: string;
  /** What it had is a snapshot's now. */
  isKept?: boolean;
}

/** What goes by a name. */
export type NameHolder =
  | { readonly kind: 'sandbox'; readonly id: string; readonly state: SandboxState }
  | { readonly kind: 'snapshot'; readonly id: string };

/** A sandbox that can be talked to. */
export interface LiveSandbox {
  readonly sandbox: Sandbox;
  readonly running: Running;
}

export interface ListedSandbox extends LiveSandbox {
  /** When it came into service, on the clock of `performance.now`. */
  readonly liveSince: number;
}

// How many sandboxes whose machine ended by itself are remembered, so that a late caller learns what happened.
const LOST_KEPT = 1000;

/** Which sandboxes there are and in which state, and who holds which name. Kept in memory: machines die with the daemon. */
export class Registry {
  readonly #byId = new Map<string, Entry>();
  readonly #byName = new Map<string, Entry>();
  /** Ids of held snapshots, by name. */
  readonly #kept = new Map<string, string>();
  /** Has an event, named by its id, for each step of a sandbox. */
  readonly #moves = new EventEmitter().setMaxListeners(0);

  /**
   * Enters a sandbox that is about to start and gives it its name, or throws NAME_TAKEN. It may have the name of the snapshot it
   * comes from.
   */
  reserve(sandbox: Sandbox): void {
    this.assertNameFree(sandbox);
    const { name } = sandbox;
    const entry: Entry = { sandbox, state: 'starting', liveSince: 0 };
    this.#byId.set(sandbox.id, entry);
    if (name !== undefined) this.#byName.set(name, entry);
  }

  /** Throws NAME_TAKEN when another has the name of this sandbox. */
  assertNameFree({ name, parentSnapshotId }: Sandbox): void {
    const holder = name === undefined ? undefined : this.nameHolder(name, parentSnapshotId);
    if (name !== undefined && holder !== undefined) throw AtollError.of('NAME_TAKEN', { name, holder });
  }

  /** Who has a name, in words; undefined when it is free, also when only this snapshot has it. */
  nameHolder(name: string, exceptSnapshot: string | undefined): string | undefined {
    const entry = this.#byName.get(name);
    if (entry !== undefined && entry.state !== 'lost') return `sandbox ${entry.sandbox.id}`;
    const snapshot = this.#kept.get(name);
    return snapshot === undefined || snapshot === exceptSnapshot ? undefined : `snapshot ${snapshot}`;
  }

  /** What has a name: a sandbox, in whatever state, or else a held snapshot. */
  holderOf(name: string): NameHolder | undefined {
    const entry = this.#byName.get(name);
    if (entry !== undefined && entry.state !== 'lost')
      return { kind: 'sandbox', id: entry.sandbox.id, state: entry.state };
    const id = this.#kept.get(name);
    return id === undefined ? undefined : { kind: 'snapshot', id };
  }

  /** Waits until a sandbox has come to its next state. Rejects when the signal aborts first. */
  async moved(id: string, signal: AbortSignal): Promise<void> {
    await once(this.#moves, id, { signal });
  }

  /** Keeps a name for a held snapshot; the sandbox that had it may still be stopping. */
  keepName(name: string | undefined, snapshotId: string): void {
    if (name !== undefined) this.#kept.set(name, snapshotId);
  }

  /** Gives a snapshot's name free. */
  dropName(name: string | undefined, snapshotId: string): void {
    if (name !== undefined && this.#kept.get(name) === snapshotId) this.#kept.delete(name);
  }

  goLive(id: string, running: Running): void {
    const entry = this.#move(id, 'live');
    entry.running = running;
    entry.liveSince = performance.now();
  }

  /** Takes a live sandbox out of service for a snapshot, to be followed by `goLive` or `beginStop`. Throws when it is not live. */
  beginSnapshot(idOrName: string): LiveSandbox {
    const live = this.live(idOrName, 'be snapshotted');
    this.#move(live.sandbox.id, 'snapshotting');
    return live;
  }

  /** Takes a sandbox that was snapshotted out of service for good, and its name from it. */
  endSnapshot(id: string): void {
    const entry = this.#move(id, 'stopping');
    entry.isKept = true;
    this.#dropNameOf(entry);
  }

  /** Takes a live sandbox out of service; its name stays taken until `forget`. Throws when it is not live. */
  beginStop(idOrName: string): LiveSandbox {
    const live = this.live(idOrName, 'be stopped');
    this.#move(live.sandbox.id, 'stopping');
    return live;
  }

  /** Notes that a live sandbox's machine ended by itself. Answers undefined when it was not live, and changes nothing. */
  lose(id: string, reason: string): LiveSandbox | undefined {
    const entry = this.#byId.get(id);
    if (entry?.state !== 'live' || entry.running === undefined) return undefined;
    this.#move(id, 'lost');
    entry.lostBecause = reason;
    const { sandbox, running } = entry;
    delete entry.running;
    this.#forgetOldestLost();
    return { sandbox, running };
  }

  /** Lets go of a sandbox and its name. */
  forget(id: string): void {
    const entry = this.#move(id, 'gone');
    this.#byId.delete(id);
    this.#dropNameOf(entry);
  }

  /**
   * The live sandbox of an id or name. Throws NOT_FOUND, ILLEGAL_STATE while it starts, or SANDBOX_UNREACHABLE when its
   * machine ended by itself.
   */
  live(idOrName: string, action: string): LiveSandbox {
    const entry = this.#find(idOrName);
    if (entry.state === 'lost') {
      const { id } = entry.sandbox;
      throw AtollError.of('SANDBOX_UNREACHABLE', { id, reason: entry.lostBecause ?? 'its VM ended' });
    }
    if (entry.running === undefined || entry.state === 'snapshotting') {
      throw AtollError.of('ILLEGAL_STATE', { id: entry.sandbox.id, state: entry.state, action });
    }
    return { sandbox: entry.sandbox, running: entry.running };
  }

  /** The id of a sandbox whose machine ended by itself. */
  lostId(idOrName: string): string | undefined {
    const { sandbox, state } = this.#find(idOrName);
    return state === 'lost' ? sandbox.id : undefined;
  }

  /** Which live sandbox has this address on the guests' network. */
  atAddress(address: string): Sandbox | undefined {
    return this.list().find(({ running }) => running.lease.address === address)?.sandbox;
  }

  /** Every live sandbox, oldest first. */
  list(): ListedSandbox[] {
    return [...this.#byId.values()].flatMap(({ sandbox, state, running, liveSince }) =>
      state === 'live' && running !== undefined ? [{ sandbox, running, liveSince }] : [],
    );
  }

  /** Every sandbox that holds something: those that boot, live, or are being stopped. A snapshot holds what it was taken of. */
  present(): Sandbox[] {
    const all = [...this.#byId.values()].filter(({ state, isKept }) => state !== 'lost' && isKept !== true);
    return all.map(({ sandbox }) => sandbox);
  }

  /** What a caller can name: all but those that are being stopped. */
  #find(idOrName: string): Entry {
    const entry = this.#byId.get(idOrName) ?? this.#byName.get(idOrName);
    if (entry === undefined || entry.state === 'stopping') {
      throw AtollError.of('NOT_FOUND', { kind: 'sandbox', id: idOrName });
    }
    return entry;
  }

  #move(id: string, to: SandboxState): Entry {
    const entry = this.#byId.get(id);
    if (entry === undefined) throw new Error(`sandbox ${id} is not in the registry`);
    assertTransition(id, entry.state, to);
    entry.state = to;
    // Told when all that belongs to the move is done.
    queueMicrotask(() => this.#moves.emit(id));
    return entry;
  }

  #dropNameOf({ sandbox: { id, name } }: Entry): void {
    if (name !== undefined && this.#byName.get(name)?.sandbox.id === id) this.#byName.delete(name);
  }

  #forgetOldestLost(): void {
    const lost = [...this.#byId.values()].filter(({ state }) => state === 'lost');
    for (const { sandbox } of lost.slice(0, Math.max(0, lost.length - LOST_KEPT))) this.forget(sandbox.id);
  }
}
