import type { Lab } from './lab.ts';
import type { Series } from './statistics.ts';

/** A bound that a figure is to keep. */
export interface Goal {
  readonly what: string;
  readonly value: number;
  readonly bound: number;
  /** Whether the figure has to be at most, or at least, the bound. */
  readonly sense: 'at most' | 'at least';
  readonly unit: string;
}

export interface Outcome {
  readonly series: readonly Series[];
  readonly goals: readonly Goal[];
}

/** One thing that is measured, side by side with what it is compared to, turn by turn. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  run(lab: Lab): Promise<Outcome>;
}

export function atMost(what: string, value: number, bound: number, unit: string): Goal {
  return { what, value, bound, sense: 'at most', unit };
}

export function atLeast(what: string, value: number, bound: number, unit: string): Goal {
  return { what, value, bound, sense: 'at least', unit };
}

export function holds({ value, bound, sense }: Goal): boolean {
  return sense === 'at most' ? value <= bound : value >= bound;
}
