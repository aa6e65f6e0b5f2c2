/** What can be made to happen at a point: someone is killed or stopped, the step fails, or it hangs until its deadline. */
export type Fault = 'daemon killed' | 'vm killed' | 'vm stopped' | 'error' | 'hang';

const ANY = ['daemon killed', 'vm killed', 'vm stopped', 'error', 'hang'] as const;
/** A step that is tried again when it fails has no other way to go wrong. */
const TRIED_AGAIN = ['daemon killed', 'error'] as const;
/** Before the first request there is no VM. */
const NO_VM = ['daemon killed', 'error', 'hang'] as const;

/**
 * Every point at which something may go wrong between two steps of a sandbox's life, in the order in which they are passed, and what may go
 * wrong there. A point comes before the step that its neighbour below names as done. CONTRIBUTING.md says how to add one.
 */
export const FAULT_POINTS = {
  'boot:leased': ANY,
  'boot:disk': ANY,
  'boot:started': ANY,
  'boot:attached': ANY,
  'boot:ruled': ANY,
  'boot:configured': ANY,
  'capture:begun': ANY,
  'capture:drafted': ANY,
  'capture:quiesced': ANY,
  'capture:paused': ANY,
  'capture:saved': ANY,
  'capture:committed': ['daemon killed', 'vm killed', 'vm stopped', 'error'],
  'restore:begun': ANY,
  'restore:disk': ANY,
  'restore:prepared': ANY,
  'restore:attached': ANY,
  'restore:filled': ANY,
  'restore:loaded': ANY,
  'restore:opened': ANY,
  'restore:configured': ANY,
  'enter:written': ANY,
  'resume:live': ANY,
  'release:machine': TRIED_AGAIN,
  'release:files': TRIED_AGAIN,
  'release:lease': TRIED_AGAIN,
  'release:history': TRIED_AGAIN,
  'recover:begun': NO_VM,
  'recover:machines': NO_VM,
  'recover:snapshots': NO_VM,
  'recover:history': NO_VM,
  'recover:files': NO_VM,
} as const satisfies Readonly<Record<string, readonly Fault[]>>;

export type FaultPoint = keyof typeof FAULT_POINTS;

/** Where the points of one part of a life begin. */
export type FaultGroup = FaultPoint extends `${infer Group}:${string}` ? Group : never;

/** The points of these groups at which this may happen, in order. */
export function pointsOf(fault: Fault, ...groups: readonly FaultGroup[]): FaultPoint[] {
  return (Object.keys(FAULT_POINTS) as FaultPoint[]).filter(
    (point) =>
      groups.some((group) => point.startsWith(`${group}:`)) &&
      (FAULT_POINTS[point] as readonly Fault[]).includes(fault),
  );
}

/** Where a point is passed. */
export interface Passing {
  /** The sandbox whose step this is; undefined at the daemon's start. */
  readonly id?: string;
  /** Ends what hangs there. */
  readonly signal?: AbortSignal;
}

/** Called at each point. Does nothing in a daemon; a test throws there, or kills someone. */
export type AtPoint = (point: FaultPoint, passing: Passing) => Promise<void> | void;
