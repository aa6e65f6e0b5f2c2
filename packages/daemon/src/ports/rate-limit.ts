/** At least one of them is there; both are positive. Each disk has its own limit, and the network card has one each way. */
export interface RateLimit {
  readonly bandwidthBytesPerSec?: number | undefined;
  /** Requests to a disk, packets of a card. */
  readonly opsPerSec?: number | undefined;
}
