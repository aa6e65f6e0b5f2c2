/**
 * The long soak of snapshots, on a daemon of its own. Usage, as root:
 * e2e/own-host.sh node e2e/soak/run.ts [cycles] [sandboxes] [clones]
 */
import { Daemon } from '../harness/daemon.ts';
import { soak } from './soak.ts';

const [cycles = 500, sandboxes = 4, clones = 200] = process.argv.slice(2).map(Number);
const EVERY = 20;

await using daemon = await Daemon.start();
const started = performance.now();
const say = (what: string) => {
  console.log(`${what}, ${((performance.now() - started) / 1000).toFixed(0)} s`);
};
const onRound = (done: number) => {
  if (done % EVERY === 0) say(`${done} cycles`);
};
const onClones = (done: number) => {
  say(`${done} clones`);
};
try {
  const figures = await soak(daemon.client, { cycles, sandboxes, clones, onRound, onClones });
  console.log('milliseconds             min   p50   p95   max');
  console.log(`snapshot              ${row(figures.snapshots)}`);
  console.log(`resume                ${row(figures.resumes)}`);
  console.log(`clone (of twenty)     ${row(figures.clones)}`);
  console.log(`${figures.snapshots.length} cycles over ${sandboxes} sandboxes, ${clones} clones: no failure`);
} catch (error) {
  console.log(daemon.log.tail());
  throw error;
}

function row(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (q: number) => sorted[Math.round(q * (sorted.length - 1))] ?? Number.NaN;
  return [0, 0.5, 0.95, 1].map((q) => at(q).toFixed(0).padStart(6)).join('');
}
