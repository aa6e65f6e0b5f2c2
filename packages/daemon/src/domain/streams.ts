import { AtollError } from '../lib/errors.ts';
import type { Metrics, StreamKind, StreamWay } from '../ports/metrics.ts';
import type { Activity } from './activity.ts';

/** Why streams of a sandbox end that nobody of theirs has ended. */
export type StreamsEnd = 'destroyed' | 'snapshotted' | 'lost' | 'shutdown';

/** A stream that is open. Disposing of it takes it off the list. */
export interface OpenStream extends Disposable {
  /** Aborts, with a SandboxLeft, when the sandbox is left by whatever `StreamsEnd` says. */
  readonly left: AbortSignal;
  count(way: StreamWay, bytes: number): void;
}

/** A stream ended since its sandbox did. */
export class SandboxLeft extends Error {
  override readonly name = 'SandboxLeft';
  readonly end: StreamsEnd;
  constructor(end: StreamsEnd) {
    super(end === 'shutdown' ? 'the daemon is shutting down' : `the sandbox was ${end}`);
    this.end = end;
  }
}

interface Entry {
  readonly kind: StreamKind;
  readonly controller: AbortController;
}

/** Every open stream of every sandbox: what is counted, what keeps a sandbox from being idle, and what ends with it. */
export class Streams {
  readonly #metrics: Metrics;
  readonly #activity: Activity;
  readonly #open = new Map<string, Set<Entry>>();
  readonly #leavers: ((sandboxId: string) => void)[] = [];
  #isShutDown = false;

  constructor(metrics: Metrics, activity: Activity) {
    this.#metrics = metrics;
    this.#activity = activity;
  }

  /** Opens a stream. With a limit, throws TOO_MANY_STREAMS when the sandbox has as many of the kind already. */
  open(sandboxId: string, kind: StreamKind, limit = Number.POSITIVE_INFINITY): OpenStream {
    if (this.#isShutDown) throw AtollError.of('SHUTTING_DOWN', {});
    const streams = this.#open.get(sandboxId) ?? new Set<Entry>();
    if (limit <= streams.size && [...streams].filter((each) => each.kind === kind).length >= limit)
      throw AtollError.of('TOO_MANY_STREAMS', { id: sandboxId, kind, limit });
    const entry = { kind, controller: new AbortController() };
    const busy = this.#activity.begin(sandboxId);
    this.#open.set(sandboxId, streams.add(entry));
    this.#metrics.streamsChanged(kind, 1);
    return {
      left: entry.controller.signal,
      count: (way, bytes) => this.#metrics.streamBytes(kind, way, bytes),
      [Symbol.dispose]: () => {
        busy[Symbol.dispose]();
        if (!streams.delete(entry)) return;
        this.#metrics.streamsChanged(kind, -1);
        if (streams.size === 0) this.#open.delete(sandboxId);
      },
    };
  }

  /** Calls back whenever a sandbox is left, after its streams were told. */
  onLeft(leave: (sandboxId: string) => void): void {
    this.#leavers.push(leave);
  }

  /** Ends all streams of a sandbox. */
  end(sandboxId: string, why: StreamsEnd): void {
    for (const { controller } of [...(this.#open.get(sandboxId) ?? [])])
      controller.abort(new SandboxLeft(why));
    for (const leave of this.#leavers) leave(sandboxId);
    this.#activity.forget(sandboxId);
  }

  /** Ends every stream, and opens no more. */
  shutdown(): void {
    this.#isShutDown = true;
    for (const sandboxId of [...this.#open.keys()]) this.end(sandboxId, 'shutdown');
  }
}
