/** What the host has left. */
export interface Host {
  /** Memory that could be handed out now without swapping, in bytes. */
  availableMemoryBytes(): Promise<number>;
  /** Processes and threads that the daemon's user could still start, by the tightest limit there is. */
  freeProcesses(): Promise<number>;
}
