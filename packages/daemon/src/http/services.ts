import type { Drives } from '../domain/drives.ts';
import type { Exec } from '../domain/exec.ts';
import type { ExecStreams } from '../domain/exec-streams.ts';
import type { Guests } from '../domain/guests.ts';
import type { Names } from '../domain/names.ts';
import type { Pruner } from '../domain/pruner.ts';
import type { Pools } from '../domain/pools.ts';
import type { Images } from '../domain/images.ts';
import type { Previews } from '../domain/previews.ts';
import type { Mounts } from '../domain/mounts.ts';
import type { Ptys } from '../domain/ptys.ts';
import type { Restores } from '../domain/restores.ts';
import type { Sandboxes } from '../domain/sandboxes.ts';
import type { Snapshots } from '../domain/snapshots.ts';
import type { Tunnels } from '../domain/tunnels.ts';

/** What the routes call. */
export interface Services {
  readonly names: Names;
  readonly pools: Pools;
  readonly pruner: Pruner;
  readonly sandboxes: Sandboxes;
  readonly snapshots: Snapshots;
  readonly restores: Restores;
  readonly guests: Guests;
  readonly exec: Exec;
  readonly images: Images;
  readonly execStreams: ExecStreams;
  readonly ptys: Ptys;
  readonly drives: Drives;
  readonly previews: Previews;
  readonly tunnels: Tunnels;
  readonly mounts: Mounts;
  /** All metrics in Prometheus' text format. */
  readonly renderMetrics: () => Promise<string>;
}
