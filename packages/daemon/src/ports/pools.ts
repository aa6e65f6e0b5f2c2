/** What a pool keeps ready, as it was asked for. Sizes in MiB. */
export interface PoolSpec {
  readonly id: string;
  readonly imageId: string | undefined;
  readonly vcpuCount: number;
  readonly memSizeMib: number;
  /** How many instances are to be ready. */
  readonly warmCount: number;
  /** How many there may be, ready and claimed; undefined: any number. */
  readonly maxCount: number | undefined;
}

/** Keeps the pools' settings from one run to the next. */
export interface PoolStore {
  load(): Promise<readonly PoolSpec[]>;
  /** Replaces what is kept, in one step. */
  save(pools: readonly PoolSpec[]): Promise<void>;
}
