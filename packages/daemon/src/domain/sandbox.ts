import type { AgentSession } from '../ports/agent.ts';
import type { HistoryRecord } from '../ports/history.ts';
import type { Mount } from '../ports/mount.ts';
import type { EgressPolicy, NetworkLease } from '../ports/network.ts';
import type { RateLimit } from '../ports/rate-limit.ts';
import type { Machine } from '../ports/vmm.ts';

/** A drive that a sandbox has. */
export interface Attachment {
  readonly id: string;
  readonly readOnly: boolean;
}

/** The durable identity of a sandbox: what was asked for, and stays true of it. */
export interface Sandbox {
  readonly id: string;
  readonly name: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAtUnix: number;
  readonly vcpuCount: number;
  readonly memSizeMib: number;
  /** Undefined: it may reach everything beyond the host. */
  readonly egress: EgressPolicy | undefined;
  /** Undefined: it boots from the default root file system. */
  readonly imageId: string | undefined;
  /** Undefined: as much as the host gives. */
  readonly rateLimit: RateLimit | undefined;
  readonly drives: readonly Attachment[];
  /** The snapshot it came from. */
  readonly parentSnapshotId: string | undefined;
  /** A fork is not kept when it is stopped: its state is in its snapshot. */
  readonly isFork: boolean;
  /** Its monitor runs in a jail: it is not snapshotted, and not kept when it is stopped. */
  readonly jailed: boolean;
  /** The pool that made it, before anybody claimed it. */
  readonly poolId?: string | undefined;
}

/** A sandbox that is or was, as the history has it. */
export type PastSandbox = HistoryRecord;

/** What a live sandbox runs on. */
export interface Running {
  readonly machine: Machine;
  readonly agent: AgentSession;
  readonly lease: NetworkLease;
  /** Whether its memory is a snapshot's, with its own changes kept to itself. */
  readonly sharesMemory: boolean;
  /** Buckets that are mounted, by the mount's id. */
  readonly mounts: Map<string, Mount>;
  /** Ends the machine and gives back all that was taken for it, newest first. */
  readonly resources: AsyncDisposableStack;
}
