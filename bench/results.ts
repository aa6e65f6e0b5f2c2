import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chart } from './chart.ts';
import type { Facts } from './facts.ts';
import type { Goal } from './scenario.ts';
import type { Summary, Unit } from './statistics.ts';

export interface SeriesSummary extends Summary {
  readonly name: string;
  readonly unit: Unit;
}

export interface Measured {
  readonly name: string;
  readonly title: string;
  readonly series: readonly SeriesSummary[];
  readonly goals: readonly Goal[];
}

/** One run, as it is written to `report.json`. */
export interface Report {
  readonly at: string;
  readonly facts: Facts;
  readonly scenarios: readonly Measured[];
}

const REPORT = 'report.json';

/** Writes a run into a directory of its own, named by its time: the report, and a picture of each scenario. Answers the directory. */
export async function saveReport(out: string, report: Report): Promise<string> {
  const dir = join(out, report.at.replaceAll(':', '-').replace(/\..*$/, ''));
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, REPORT), `${JSON.stringify(report, undefined, 2)}\n`);
  for (const scenario of report.scenarios)
    await writeFile(join(dir, `${scenario.name}.svg`), chart(scenario));
  return dir;
}

/** The newest run in a directory; undefined when there is none. */
export async function latestReport(out: string): Promise<Report | undefined> {
  const runs = (await readdir(out).catch(() => [])).toSorted();
  const latest = runs.at(-1);
  return latest === undefined
    ? undefined
    : (JSON.parse(await readFile(join(out, latest, REPORT), 'utf8')) as Report);
}

/** By how much the median of each series differs from an earlier run's, in per cent, by the series' name. */
export function compare(before: Report | undefined, { name, series }: Measured): ReadonlyMap<string, number> {
  const earlier = before?.scenarios.find((each) => each.name === name)?.series ?? [];
  return new Map(
    series.flatMap((each) => {
      const was = earlier.find((one) => one.name === each.name && one.unit === each.unit);
      return was === undefined ? [] : [[each.name, (each.p50 / was.p50 - 1) * 100] as const];
    }),
  );
}
