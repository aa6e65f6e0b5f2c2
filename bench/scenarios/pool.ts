import { setTimeout as sleep } from 'node:timers/promises';
import { inRounds, timeOf } from '../lab.ts';
import type { Lab } from '../lab.ts';
import { atMost } from '../scenario.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';
import { median, quantile } from '../statistics.ts';

const POOLED = { vcpu_count: 1, mem_size_mib: 256 };
// Matches no pool.
const COLD = { vcpu_count: 1, mem_size_mib: 255 };

// A pool says that it is full before the machine that it keeps loaded is: that takes some 100 ms.
const SETTLE_MS = 1500;

/** A create that a pool serves, from its snapshot and from a machine that is kept loaded, each beside one that boots. */
export const pool: Scenario = {
  name: 'pool',
  title: 'Create from a pool to the first output',
  async run({ rounds }: Lab): Promise<Outcome> {
    const warm = await measure(rounds, 0);
    const hot = await measure(rounds, 1);
    const full = await measureQueue(rounds);
    const cold = [...warm.cold, ...hot.cold];
    return {
      series: [
        { name: 'cold boot', unit: 'ms', values: cold },
        { name: 'a pool’s snapshot', unit: 'ms', values: warm.pooled },
        { name: 'hot standby', unit: 'ms', values: hot.pooled },
        { name: 'POST /sandboxes, cold', unit: 'ms', values: full.cold },
        { name: 'the same, from the end it waited for', unit: 'ms', values: full.queued },
      ],
      goals: [
        atMost('hot standby, median', median(hot.pooled), 50, 'ms'),
        atMost('hot standby, p99', quantile(hot.pooled, 0.99), 90, 'ms'),
        atMost('hot standby / cold boot', median(hot.pooled) / median(hot.cold), 0.1, '×'),
        atMost('wait for a slot, beyond its end', median(full.queued) - median(full.cold), 100, 'ms'),
      ],
    };
  },
};

/** Turn by turn, with this many machines kept loaded. */
async function measure(rounds: number, standby: number): Promise<{ cold: number[]; pooled: number[] }> {
  await using service = await Service.start({ SERVICE_POOL_STANDBY: String(standby) });
  await service.http.call('POST', '/pools', { id: 'bench', ...POOLED, warm_count: 1 });
  const measured = await inRounds(rounds, async () => {
    const cold = await timeToOutput(service, COLD);
    while (!(await isFilled(service))) await sleep(20);
    await sleep(SETTLE_MS);
    return { cold, pooled: await timeToOutput(service, POOLED) };
  });
  await service.http.call('DELETE', '/pools/bench');
  return { cold: measured.map(({ cold }) => cold), pooled: measured.map(({ pooled }) => pooled) };
}

/** A create that waits for the only slot of a pool, from the end of whoever had it, beside one that waits for nothing. Both boot. */
async function measureQueue(rounds: number): Promise<{ cold: number[]; queued: number[] }> {
  await using service = await Service.start();
  await service.http.call('POST', '/pools', { id: 'full', ...POOLED, warm_count: 0, max_count: 1 });
  const measured = await inRounds(rounds, async () => {
    let id = '';
    const cold = await timeOf(async () => (id = await service.create(COLD)));
    await service.destroy(id);

    const first = await service.create(POOLED);
    const waiting = service.create(POOLED);
    await sleep(SETTLE_MS);
    await service.destroy(first);
    const queued = await timeOf(async () => (id = await waiting));
    await service.destroy(id);
    return { cold, queued };
  });
  return { cold: measured.map(({ cold }) => cold), queued: measured.map(({ queued }) => queued) };
}

async function timeToOutput(service: Service, size: typeof POOLED): Promise<number> {
  let id = '';
  const took = await timeOf(async () => {
    id = await service.create(size);
    await service.exec(id, 'echo', ['hello']);
  });
  await service.destroy(id);
  return took;
}

async function isFilled(service: Service): Promise<boolean> {
  const { pools } = (await service.http.call('GET', '/pools')) as { pools: { warm_ready: number }[] };
  return pools[0]?.warm_ready === 1;
}
