import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, isErrno, reasonOf } from '../lib/errors.ts';
import { NoSpace } from '../ports/snapshots.ts';
import type { SnapshotDraft, SnapshotRecord, StoredSnapshot } from '../ports/snapshots.ts';
import type { Drives } from './drives.ts';
import type { LaunchPorts } from './launch.ts';
import type { LiveSandbox } from './registry.ts';
import type { Streams } from './streams.ts';
import { nowUnix } from './time.ts';

// A step of the undoing is one message to the monitor.
const UNDO_MS = 5000;

/** What a capture needs beside the sandbox. */
export interface CaptureContext {
  readonly ports: LaunchPorts;
  readonly drives: Drives;
  /** The sandbox's streams end with the epoch of its agent. */
  readonly streams: Streams;
  readonly log: Logger;
}

/**
 * Saves a sandbox that is out of service: agent quiesced, machine paused, state written, files frozen, manifest last. The machine
 * is still there when this answers, paused, and of no more use. When a step fails, those before it are undone, newest first, and
 * the sandbox goes on.
 */
export async function capture(
  { ports, drives, streams, log }: CaptureContext,
  { sandbox, running }: LiveSandbox,
  snapshotId: string,
  deadline: Deadline,
): Promise<StoredSnapshot> {
  const { vmm, snapshots, atPoint } = ports;
  const { machine, agent, lease } = running;
  const { mac, address, prefixLength, gateway } = lease;
  const passing = { id: sandbox.id, signal: deadline.signal };
  let draft: SnapshotDraft | undefined;
  await using undo = new AsyncDisposableStack();
  try {
    await atPoint('capture:begun', passing);
    const memoryInState = running.sharesMemory ? sandbox.memSizeMib : 0;
    const begun = await snapshots.draft(snapshotId, sandbox.id, memoryInState, deadline.signal);
    draft = begun;
    undo.defer(() => begun.discard());
    await atPoint('capture:drafted', passing);

    streams.end(sandbox.id, 'snapshotted');
    const { generation } = await agent.quiesce(deadline.signal);
    undo.defer(() => agent.wake());
    await atPoint('capture:quiesced', passing);

    undo.defer(async () => {
      using soon = Deadline.in(UNDO_MS, 'the machine going on');
      await machine.resume(soon).catch(async (error: unknown) => {
        log.error({ sandbox_id: sandbox.id, reason: reasonOf(error) }, 'machine does not go on: ending it');
        // Its monitor does not listen, and it may be paused: whoever calls it is told that it is lost, and not to wait.
        await machine.stop();
      });
    });
    await machine.pause(deadline);
    await atPoint('capture:paused', passing);

    const { holdsMemory } = await machine.save(begun.state, deadline);
    await atPoint('capture:saved', passing);

    const record: SnapshotRecord = {
      id: snapshotId,
      createdAtUnix: nowUnix(),
      retiredAtUnix: undefined,
      sourceSandboxId: sandbox.id,
      parentSnapshotId: sandbox.parentSnapshotId,
      name: sandbox.name,
      tags: sandbox.tags,
      vcpuCount: sandbox.vcpuCount,
      memSizeMib: sandbox.memSizeMib,
      egress: sandbox.egress,
      imageId: sandbox.imageId,
      rateLimit: sandbox.rateLimit,
      drives: await drives.marked(sandbox.drives),
      mounts: [...running.mounts.values()],
      poolId: sandbox.poolId,
      identity: { mac, address, prefixLength, gateway },
      vmm: vmm.profile,
      agentGeneration: generation,
    };
    const stored = await begun.commit(record, holdsMemory);
    undo.move();
    return stored;
  } catch (error) {
    throw await asFailure(error, sandbox.id, draft, ports, deadline);
  }
}

async function asFailure(
  error: unknown,
  id: string,
  draft: SnapshotDraft | undefined,
  { snapshots }: LaunchPorts,
  { signal }: Deadline,
): Promise<unknown> {
  const path = snapshots.snapshotsDir;
  if (error instanceof NoSpace) {
    const { needBytes, freeBytes } = error;
    return AtollError.of('INSUFFICIENT_DISK', { needBytes, freeBytes, path }, error);
  }
  // The file system filled up on the way, whoever wrote.
  if (draft !== undefined && isErrno(error, 'ENOSPC', 'EDQUOT')) {
    const freeBytes = await snapshots.freeBytes();
    return AtollError.of('INSUFFICIENT_DISK', { needBytes: draft.needBytes, freeBytes, path }, error);
  }
  const { aborted, reason } = signal as { aborted: boolean; reason: unknown };
  if (aborted && reason instanceof AtollError) return reason;
  if (error instanceof AtollError) return error;
  return AtollError.of('SNAPSHOT_FAILED', { id, reason: reasonOf(error) }, error);
}
