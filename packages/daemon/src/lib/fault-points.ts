/** The steps of a snapshot's life between which something may go wrong, in order. */
export const FAULT_POINTS = [
  'capture:begun',
  'capture:drafted',
  'capture:quiesced',
  'capture:paused',
  'capture:saved',
  'capture:committed',
  'restore:begun',
  'restore:disk',
  'restore:filled',
  'restore:prepared',
  'restore:attached',
  'restore:loaded',
  'restore:opened',
  'restore:configured',
  'resume:live',
] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];

/** Called at each point. Does nothing in a daemon; a test throws there, or kills someone. */
export type AtPoint = (point: FaultPoint) => Promise<void> | void;
