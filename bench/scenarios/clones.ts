import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { machinePids } from '../../e2e/harness/host.ts';
import { execBare } from '../bare.ts';
import { processorTicks, TICKS_PER_SECOND } from '../processes.ts';
import { inRounds, timeOf } from '../lab.ts';
import type { Lab } from '../lab.ts';
import { atMost } from '../scenario.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';
import type { Series } from '../statistics.ts';
import { median } from '../statistics.ts';

const COUNTS = [1, 8, 32, 64];
const IDLE_MS = 5000;

/**
 * Clones in one call, until it answers, and until every one has run a command, beside as many machines started by hand; with all 64 alive,
 * what they take of memory and processors.
 */
export const clones: Scenario = {
  name: 'clones',
  title: 'Clones from one call, all answering',
  async run({ rounds, bare }: Lab): Promise<Outcome> {
    await using service = await Service.start();
    const snapshot = await service.snapshot(await service.create({ vcpu_count: 1, mem_size_mib: 256 }));
    const snapshotsDir = join(service.daemon.stateDir, 'snapshots');
    const measured = new Map<number, Times[]>();
    for (const count of COUNTS) {
      const few = Math.max(2, Math.round(rounds / 5));
      const times = await inRounds(few, async () => {
        let ids: string[] = [];
        const call = await timeOf(async () => (ids = await service.clone(snapshot, count)));
        const commands = await timeOf(() => Promise.all(ids.map((id) => service.exec(id, 'true'))));
        await Promise.all(ids.map((id) => service.destroy(id)));
        await using machines = await bare.clone(snapshotsDir, snapshot, count);
        const byHand = await timeOf(() =>
          Promise.all(machines.sessions.map((session) => execBare(session, 'true'))),
        );
        return { call, wall: call + commands, answers: machines.took, bare: machines.took + byHand };
      });
      measured.set(count, times);
    }
    const of = (count: number, what: keyof Times) => (measured.get(count) ?? []).map((each) => each[what]);
    const crowd = await crowdOf(service, snapshot);
    await service.deleteSnapshot(snapshot);
    const series: Series[] = COUNTS.flatMap((count) => [
      { name: `${count} bare, to their answers`, unit: 'ms', values: of(count, 'answers') },
      { name: `${count}, the call`, unit: 'ms', values: of(count, 'call') },
      { name: `${count} bare, wall`, unit: 'ms', values: of(count, 'bare') },
      { name: `${count}, wall`, unit: 'ms', values: of(count, 'wall') },
    ]);
    return {
      series: [
        ...series,
        { name: 'memory of one of 64 (PSS), untouched', unit: 'MiB', values: crowd.untouched },
        { name: 'the same, after a command', unit: 'MiB', values: crowd.used },
        { name: 'processors of 64, idle', unit: '%', values: [crowd.idle] },
      ],
      goals: [
        atMost('64, wall', median(of(64, 'wall')), 3000, 'ms'),
        atMost('memory of one of 64 (PSS), untouched', Math.max(...crowd.untouched), 30, 'MiB'),
      ],
    };
  },
};

/** Milliseconds of a round: of the call and of the last command's end, of the service and by hand. */
interface Times {
  readonly call: number;
  readonly wall: number;
  readonly answers: number;
  readonly bare: number;
}

interface Crowd {
  readonly untouched: readonly number[];
  readonly used: readonly number[];
  readonly idle: number;
}

/** What 64 clones take: when nobody has asked anything of them yet, and after a command in each. */
async function crowdOf(service: Service, snapshot: string): Promise<Crowd> {
  const ids = await service.clone(snapshot, 64);
  const idle = await idleLoad(service);
  const untouched = await pssOf(service, ids);
  await Promise.all(ids.map((id) => service.exec(id, 'true')));
  const used = await pssOf(service, ids);
  await Promise.all(ids.map((id) => service.destroy(id)));
  return { untouched, used, idle };
}

async function pssOf(service: Service, ids: readonly string[]): Promise<number[]> {
  const sizes: number[] = [];
  for (const id of ids) sizes.push(await service.pssMib(id));
  return sizes;
}

/** Per cent of one processor that all machines take together while nobody asks anything of them. */
async function idleLoad(service: Service): Promise<number> {
  const pids = await machinePids(service.daemon.stateDir);
  const ticks = async () =>
    (await Promise.all(pids.map(processorTicks))).reduce((sum, each) => sum + each, 0);
  const before = await ticks();
  await sleep(IDLE_MS);
  return (((await ticks()) - before) / TICKS_PER_SECOND / (IDLE_MS / 1000)) * 100;
}
