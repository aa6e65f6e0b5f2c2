export interface CopyOptions {
  /** Keeps owners as numbers, and every bit of modes. */
  readonly archive?: boolean;
}
