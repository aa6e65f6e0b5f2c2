/** The parts of a create whose time is told apart. */
export const CREATE_PHASES = ['rootfs_clone', 'network_lease', 'setup', 'egress_apply', 'total'] as const;
export type CreatePhase = (typeof CREATE_PHASES)[number];

/** What stays open beyond one answer: running background commands, their log readers, terminals, previews, tunnels. */
export const STREAM_KINDS = ['exec_stream', 'logs', 'pty', 'preview', 'tunnel'] as const;
export type StreamKind = (typeof STREAM_KINDS)[number];

/** Way of a stream's bytes: into the guest, or out of it. */
export const STREAM_WAYS = ['in', 'out'] as const;
export type StreamWay = (typeof STREAM_WAYS)[number];

/** Counts and times, for whoever watches the daemon. Durations are in milliseconds. */
export interface Metrics {
  sandboxCreated(): void;
  sandboxesActive(count: number): void;
  /** Start of the VM monitor to the agent's answer. */
  booted(ms: number): void;
  execDone(ms: number): void;
  createPhase(phase: CreatePhase, ms: number): void;
  /** By how many the open streams of a kind changed. */
  streamsChanged(kind: StreamKind, by: 1 | -1): void;
  streamBytes(kind: StreamKind, way: StreamWay, bytes: number): void;
  /** All of it in Prometheus' text format. */
  render(): Promise<string>;
}
