import { randomUUID } from 'node:crypto';
import type { CloneRequest } from '@atoll/contract/snapshots';
import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import type { Archiver } from './archiver.ts';
import type { KeyedLock } from '../lib/keyed-lock.ts';
import type { NetworkLease } from '../ports/network.ts';
import type { StoredSnapshot } from '../ports/snapshots.ts';
import type { Drives } from './drives.ts';
import type { LaunchPorts } from './launch.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Registry } from './registry.ts';
import { restore } from './restore.ts';
import type { Restoration } from './restore.ts';
import type { Running, Sandbox } from './sandbox.ts';
import type { SnapshotBook } from './snapshot-book.ts';
import type { SnapshotContext } from './snapshots.ts';
import { nowUnix } from './time.ts';

// A device state is read twice, to compare and to load it: milliseconds.
const CHECK_MS = 60_000;

/** Brings sandboxes up from snapshots: resume, fork, restore, clone. */
export class Restores {
  readonly #ports: LaunchPorts;
  readonly #registry: Registry;
  readonly #lifecycle: Lifecycle;
  readonly #drives: Drives;
  readonly #book: SnapshotBook;
  readonly #archiver: Archiver;
  readonly #locks: KeyedLock;
  readonly #log: Logger;

  constructor({ ports, registry, lifecycle, drives, book, archiver, locks, log }: SnapshotContext) {
    this.#ports = ports;
    this.#registry = registry;
    this.#lifecycle = lifecycle;
    this.#drives = drives;
    this.#book = book;
    this.#archiver = archiver;
    this.#locks = locks;
    this.#log = log;
  }

  /**
   * Makes a held snapshot a live sandbox again, and the snapshot a checkpoint of history, or nothing. Throws NOT_FOUND when it was
   * consumed, SNAPSHOT_FORKED or IDENTITY_HELD while its identity is another's too, SNAPSHOT_INCOMPATIBLE.
   */
  resume(id: string, options: { retain: boolean; fresh: boolean }, signal: AbortSignal): Promise<Sandbox> {
    return this.#locks.run(id, async () => {
      const snapshot = await this.#archiver.fetch(this.#book.held(id), signal);
      if (!options.fresh) this.#assertUnforked(snapshot, 'be resumed');
      this.#drives.assertFree(snapshot.record.drives, `snapshot ${id}`);
      const sandbox = this.#sandboxOf(snapshot, { consumes: true, fresh: options.fresh });
      const restoration = this.#restoration(snapshot, sandbox, { fresh: options.fresh, shares: false });
      return this.#start(sandbox, restoration, signal, () => this.#consume(snapshot, options.retain));
    });
  }

  /** Makes a sandbox of a held snapshot, which stays. Throws SNAPSHOT_FORKED while an earlier fork lives, and as `resume`. */
  fork(id: string, fresh: boolean, signal: AbortSignal): Promise<Sandbox> {
    return this.#locks.run(id, async () => {
      const snapshot = await this.#archiver.fetch(this.#book.held(id), signal);
      if (!fresh) this.#assertUnforked(snapshot, 'be forked');
      this.#drives.assertFree(snapshot.record.drives);
      const sandbox = this.#sandboxOf(snapshot, { isFork: true, fresh });
      return this.#start(sandbox, this.#restoration(snapshot, sandbox, { fresh, shares: true }), signal);
    });
  }

  /** Makes a sandbox of a retired checkpoint, which stays. Throws IDENTITY_HELD while anyone has its identity, and as `resume`. */
  restore(id: string, fresh: boolean, signal: AbortSignal): Promise<Sandbox> {
    return this.#locks.run(id, async () => {
      const snapshot = await this.#archiver.fetch(this.#book.retired(id), signal);
      const { identity } = snapshot.record;
      const [holder] = this.#ports.leases.holders(identity);
      if (!fresh && holder !== undefined)
        throw AtollError.of('IDENTITY_HELD', { id, address: identity.address, holder });
      await this.#drives.assertAsSaved(snapshot.record);
      this.#drives.assertFree(snapshot.record.drives);
      const sandbox = this.#sandboxOf(snapshot, { fresh });
      return this.#start(sandbox, this.#restoration(snapshot, sandbox, { fresh, shares: false }), signal);
    });
  }

  /**
   * Makes many sandboxes of one held snapshot, each with an identity of its own, their memory shared until they write to it. Answers
   * what became of each, in order. Throws NOT_FOUND.
   */
  clone(id: string, request: CloneRequest, signal: AbortSignal): Promise<(Sandbox | AtollError)[]> {
    return this.#locks.run(id, async () => {
      const snapshot = await this.#archiver.fetch(this.#book.held(id), signal);
      this.#drives.assertFree(snapshot.record.drives);
      const clones = Array.from({ length: request.count }, async (_, at) => {
        const name = request.name_prefix === undefined ? undefined : `${request.name_prefix}-${at + 1}`;
        const tags = request.tags ?? snapshot.record.tags;
        const sandbox = { ...this.#sandboxOf(snapshot, { fresh: true }), name, tags };
        return this.#start(
          sandbox,
          this.#restoration(snapshot, sandbox, { fresh: true, shares: true }),
          signal,
        );
      });
      const outcomes = await Promise.allSettled(clones);
      return outcomes.map((outcome) =>
        outcome.status === 'fulfilled' ? outcome.value : asAtollError(outcome.reason, id),
      );
    });
  }

  async #start(
    sandbox: Sandbox,
    restoration: Restoration,
    signal: AbortSignal,
    finish?: () => Promise<void>,
  ): Promise<Sandbox> {
    const { snapshot } = restoration;
    const launch = async (deadline: Deadline): Promise<Running> => {
      await this.assertCompatible(snapshot, deadline.signal);
      const { admission, snapshots } = this.#ports;
      const copied = restoration.sharesMemory ? 0 : await snapshots.uniqueBytes(snapshot.record.id);
      using _room = await admission.take(sandbox, copied);
      return await restore(this.#ports, sandbox, restoration, deadline);
    };
    const settle = async (deadline: Deadline) => {
      await this.#ports.atPoint('resume:live', { id: sandbox.id, signal: deadline.signal });
      await finish?.();
    };
    const started = await this.#lifecycle.start(sandbox, { launch, settle }, signal);
    this.#log.info({ sandbox_id: sandbox.id, snapshot_id: snapshot.record.id }, 'sandbox restored');
    return started;
  }

  /** What was recorded has to be what there is, before anything is started. Throws SNAPSHOT_INCOMPATIBLE. */
  async assertCompatible(snapshot: StoredSnapshot, signal: AbortSignal): Promise<void> {
    const { id, vmm } = snapshot.record;
    const { profile } = this.#ports.vmm;
    const parts: [what: string, recorded: string, actual: string][] = [
      ['the VM monitor', vmm.monitor, profile.monitor],
      ['the accelerator', vmm.accelerator, profile.accelerator],
      ['the CPU model', vmm.cpu, profile.cpu],
      ['the kernel', vmm.kernel, profile.kernel],
    ];
    for (const [what, recorded, actual] of parts) {
      if (recorded !== actual) throw AtollError.of('SNAPSHOT_INCOMPATIBLE', { id, what, recorded, actual });
    }
    using deadline = Deadline.in(CHECK_MS, 'the check of the snapshot', signal);
    const fault = await this.#ports.snapshots.findFault(snapshot, deadline.signal);
    if (fault !== undefined) throw AtollError.of('SNAPSHOT_INCOMPATIBLE', { id, ...fault });
  }

  /** A snapshot that became a sandbox: what it held is the sandbox's now. */
  async #consume(snapshot: StoredSnapshot, retain: boolean): Promise<void> {
    const { id, name, identity } = snapshot.record;
    if (retain) {
      this.#book.enter(await this.#ports.snapshots.retire(snapshot, nowUnix()));
    } else {
      await this.#ports.snapshots.remove(id);
      this.#book.remove(id);
    }
    this.#registry.dropName(name, id);
    this.#ports.leases.drop(identity, `snapshot ${id}`);
  }

  #assertUnforked({ record }: StoredSnapshot, action: string): void {
    const fork = this.#ports.leases.forkOf(record.identity, record.id);
    if (fork !== undefined) throw AtollError.of('SNAPSHOT_FORKED', { id: record.id, fork, action });
  }

  /**
   * What comes out of a snapshot goes by its name. With an identity of its own, only where that is free, or becomes so since the
   * snapshot is consumed.
   */
  #sandboxOf(
    { record }: StoredSnapshot,
    as: { consumes?: boolean; isFork?: boolean; fresh: boolean },
  ): Sandbox {
    const { id, name, tags, vcpuCount, memSizeMib, egress, imageId, rateLimit, drives } = record;
    const except = as.consumes ? id : undefined;
    const isTaken = name !== undefined && this.#registry.nameHolder(name, except) !== undefined;
    return {
      id: randomUUID(),
      name: as.fresh && isTaken ? undefined : name,
      tags,
      createdAtUnix: nowUnix(),
      vcpuCount,
      memSizeMib,
      egress,
      imageId,
      rateLimit,
      drives: drives.map(({ id: drive, readOnly }) => ({ id: drive, readOnly })),
      parentSnapshotId: id,
      isFork: as.isFork ?? false,
      jailed: this.#ports.vmm.jailed,
    };
  }

  #restoration(
    snapshot: StoredSnapshot,
    sandbox: Sandbox,
    as: { fresh: boolean; shares: boolean },
  ): Restoration {
    const { leases, vmm } = this.#ports;
    const claimLease = async (deadline: Deadline): Promise<NetworkLease> => {
      if (as.fresh) return leases.take(`sandbox ${sandbox.id}`, deadline);
      const { id, identity } = snapshot.record;
      const lease = await leases.claim(identity, id, `sandbox ${sandbox.id}`, deadline);
      if (lease !== undefined) return lease;
      const [recorded, actual] = [identity.address, 'not of this network any more'];
      throw AtollError.of('SNAPSHOT_INCOMPATIBLE', { id, what: 'its network address', recorded, actual });
    };
    const drives = this.#drives.forMachine(snapshot.record.drives);
    // A jailed monitor gets a copy: it would have to be let write to what it shares.
    const sharesMemory = as.shares && !vmm.jailed;
    return { snapshot, drives, claimLease, freshIdentity: as.fresh, sharesMemory };
  }
}

function asAtollError(error: unknown, id: string): AtollError {
  if (error instanceof AtollError) return error;
  return AtollError.of('RESTORE_FAILED', { id, reason: reasonOf(error) }, error);
}
