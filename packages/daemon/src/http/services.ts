import type { Exec } from '../domain/exec.ts';
import type { Guests } from '../domain/guests.ts';
import type { Images } from '../domain/images.ts';
import type { Restores } from '../domain/restores.ts';
import type { Sandboxes } from '../domain/sandboxes.ts';
import type { Snapshots } from '../domain/snapshots.ts';

/** What the routes call. */
export interface Services {
  readonly sandboxes: Sandboxes;
  readonly snapshots: Snapshots;
  readonly restores: Restores;
  readonly guests: Guests;
  readonly exec: Exec;
  readonly images: Images;
  /** All metrics in Prometheus' text format. */
  readonly renderMetrics: () => Promise<string>;
}
