import { inRounds, timeOf } from '../lab.ts';
import type { Lab } from '../lab.ts';
import { atMost } from '../scenario.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';
import { median } from '../statistics.ts';

const SIZES_MIB = [256, 512, 4096];
const DIRTY = 'import os; open("/dev/shm/dirty", "wb").write(os.urandom(100_000_000))';

/** A snapshot of sandboxes of several sizes, each with 100 MB of dirty memory. */
export const snapshot: Scenario = {
  name: 'snapshot',
  title: 'Snapshot call, 100 MB of memory dirty',
  async run({ rounds }: Lab): Promise<Outcome> {
    await using service = await Service.start();
    const ids: string[] = [];
    for (const mem_size_mib of SIZES_MIB) {
      const id = await service.create({ mem_size_mib });
      await service.exec(id, 'python3', ['-c', DIRTY]);
      ids.push(id);
    }
    /** How long a snapshot of the sandbox takes, which is live again then. */
    const retake = async (at: number) => {
      let taken = '';
      const ms = await timeOf(async () => (taken = await service.snapshot(ids[at] ?? '')));
      ids[at] = await service.bringUp(`${taken}/resume?retain_history=false`);
      return ms;
    };
    const measured = await inRounds(rounds, async () => {
      const times: { resumed: number; used: number }[] = [];
      for (const at of ids.keys()) {
        const resumed = await retake(at);
        await service.exec(ids[at] ?? '', 'true');
        times.push({ resumed, used: await retake(at) });
      }
      return times;
    });
    for (const id of ids) await service.destroy(id);
    const of = (at: number, key: 'resumed' | 'used') =>
      measured.map((times) => times[at]?.[key] ?? Number.NaN);
    const medians = SIZES_MIB.map((_, at) => median(of(at, 'used')));
    return {
      series: SIZES_MIB.flatMap((mib, at) => [
        { name: `of ${mib} MiB`, unit: 'ms', values: of(at, 'used') },
        { name: `of ${mib} MiB, nothing having run since its resume`, unit: 'ms', values: of(at, 'resumed') },
      ]),
      goals: [
        ...SIZES_MIB.map((mib, at) => atMost(`of ${mib} MiB`, medians[at] ?? Number.NaN, 30, 'ms')),
        atMost('slowest / fastest size', Math.max(...medians) / Math.min(...medians), 1.3, '×'),
      ],
    };
  },
};
