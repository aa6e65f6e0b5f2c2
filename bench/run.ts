/**
 * Measures the service and the bare thing side by side, in one run. As root, on a quiet machine:
 * npm run bench -- [--rounds N] [--out DIR] [scenario…]
 */
import { parseArgs } from 'node:util';
import { BareMachines } from './bare.ts';
import { factsOf } from './facts.ts';
import { compare, latestReport, saveReport } from './results.ts';
import type { Measured, Report } from './results.ts';
import { goalLine, heading, seriesTable } from './table.ts';
import { holds } from './scenario.ts';
import type { Scenario } from './scenario.ts';
import { summarize } from './statistics.ts';
import { clones } from './scenarios/clones.ts';
import { create } from './scenarios/create.ts';
import { daemon } from './scenarios/daemon.ts';
import { exec } from './scenarios/exec.ts';
import { files } from './scenarios/files.ts';
import { history } from './scenarios/history.ts';
import { pool } from './scenarios/pool.ts';
import { preview } from './scenarios/preview.ts';
import { resume } from './scenarios/resume.ts';
import { snapshot } from './scenarios/snapshot.ts';
import { terminal } from './scenarios/terminal.ts';

const SCENARIOS: readonly Scenario[] = [
  ...[create, pool, resume, snapshot, clones],
  ...[exec, files, preview, terminal, daemon, history],
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '20' },
    out: { type: 'string', default: 'bench/results' },
  },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds takes a whole number from 1');
const unknown = positionals.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
if (unknown.length > 0)
  throw new Error(
    `no scenario ${unknown.join(', ')}: there are ${SCENARIOS.map(({ name }) => name).join(', ')}`,
  );
const chosen = SCENARIOS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

await using bare = await BareMachines.open();
const facts = await factsOf(bare, rounds);
console.log(
  Object.entries(facts)
    .map(([what, fact]) => `${what}: ${fact}`)
    .join('\n'),
);
const before = await latestReport(values.out);
const measured: Measured[] = [];
for (const scenario of chosen) {
  const { series, goals } = await scenario.run({ rounds, bare });
  const summaries = series.map(({ name, unit, values: all }) => ({ name, unit, ...summarize(all) }));
  const result = { name: scenario.name, title: scenario.title, series: summaries, goals };
  measured.push(result);
  console.log(`\n${heading(scenario.title)}\n${seriesTable(summaries, compare(before, result))}`);
  for (const goal of goals) console.log(goalLine(goal));
}
const report: Report = { at: new Date().toISOString(), facts, scenarios: measured };
console.log(`\nwritten to ${await saveReport(values.out, report)}`);
const missed = measured.flatMap(({ goals }) => goals).filter((goal) => !holds(goal)).length;
console.log(missed === 0 ? 'every goal holds' : `${missed} goals do not hold`);
