/** What history is kept, in each lineage; an undefined limit is none. */
export interface RetentionPolicy {
  /** How many checkpoints, the newest. */
  readonly keepLast?: number | undefined;
  /** How long after they were retired. */
  readonly maxAgeSecs?: number | undefined;
  /** How much disk they may take together. */
  readonly maxBytes?: number | undefined;
}

/** A retired checkpoint as retention looks at it. */
export interface Retained {
  readonly id: string;
  /** The first snapshot of all that came of it. */
  readonly lineage: string;
  readonly retiredAtUnix: number;
  readonly bytes: number;
  /** Never pruned, and not counted either. */
  readonly pinned: boolean;
}

/** Which limit a checkpoint is beyond. */
export type PruneReason = 'keep_last' | 'max_age' | 'max_bytes';

export interface Prunable {
  readonly checkpoint: Retained;
  readonly reason: PruneReason;
}

/** What is beyond the limits, oldest first within a lineage. `checkpoints` come oldest first. */
export function selectPrunable(
  checkpoints: readonly Retained[],
  policy: RetentionPolicy,
  nowUnix: number,
): Prunable[] {
  const lineages = Map.groupBy(
    checkpoints.filter(({ pinned }) => !pinned),
    ({ lineage }) => lineage,
  );
  return [...lineages.values()].flatMap((members) => prunableOf(members, policy, nowUnix));
}

function prunableOf(members: readonly Retained[], policy: RetentionPolicy, nowUnix: number): Prunable[] {
  const { keepLast = Infinity, maxAgeSecs = Infinity, maxBytes = Infinity } = policy;
  // Of two that were retired within a second the later one comes later.
  const newestFirst = members.toReversed().toSorted((a, b) => b.retiredAtUnix - a.retiredAtUnix);
  let kept = 0;
  let bytes = 0;
  const beyond = (checkpoint: Retained): PruneReason | undefined => {
    if (kept >= keepLast) return 'keep_last';
    if (nowUnix - checkpoint.retiredAtUnix > maxAgeSecs) return 'max_age';
    // What would be kept behind one that is too large is older than it, and goes too.
    bytes += checkpoint.bytes;
    if (bytes > maxBytes) return 'max_bytes';
    kept += 1;
    return undefined;
  };
  return newestFirst
    .flatMap((checkpoint) => {
      const reason = beyond(checkpoint);
      return reason === undefined ? [] : [{ checkpoint, reason }];
    })
    .toReversed();
}

/** The first ancestor of each snapshot that is known; one whose parent is gone is the first itself. */
export function lineagesOf(parents: ReadonlyMap<string, string | undefined>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const id of parents.keys()) {
    let first = id;
    for (let at = parents.get(id); at !== undefined && parents.has(at) && at !== id; at = parents.get(at))
      first = at;
    found.set(id, first);
  }
  return found;
}
