/** The parts of a create whose time is told apart. */
export const CREATE_PHASES = ['rootfs_clone', 'network_lease', 'setup', 'egress_apply', 'total'] as const;
export type CreatePhase = (typeof CREATE_PHASES)[number];

/** Counts and times, for whoever watches the daemon. Durations are in milliseconds. */
export interface Metrics {
  sandboxCreated(): void;
  sandboxesActive(count: number): void;
  /** Start of the VM monitor to the agent's answer. */
  booted(ms: number): void;
  execDone(ms: number): void;
  createPhase(phase: CreatePhase, ms: number): void;
  /** All of it in Prometheus' text format. */
  render(): Promise<string>;
}
