import { setTimeout as sleep } from 'node:timers/promises';
import type { Lab } from '../lab.ts';
import { requestRate } from '../load.ts';
import { atMost } from '../scenario.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';

const LIVE = 64;
const CREATES = 8;
const SETTLE_MS = 5000;
const CONNECTIONS = 32;
const FOR_MS = 3000;

// What Node counts is the time between two looks at the loop, 10 ms apart: of a loop that waits for nothing it says 10 to 11.
const BETWEEN_LOOKS_MS = 10;

/** What the daemon itself takes: memory, how long its event loop makes others wait, how fast it lists. */
export const daemon: Scenario = {
  name: 'daemon',
  title: 'The daemon itself',
  async run({ rounds }: Lab): Promise<Outcome> {
    await using service = await Service.start();
    await sleep(SETTLE_MS);
    const idle = await service.residentMib();
    const delayMs = async () =>
      (await service.metric('nodejs_eventloop_lag_p99_seconds')) * 1000 - BETWEEN_LOOKS_MS;
    const delays: number[] = [];
    for (let round = 0; round < Math.max(2, Math.round(rounds / 5)); round += 1) {
      // The figure counts from the question before.
      await delayMs();
      const ids = await Promise.all(
        Array.from({ length: CREATES }, () => service.create({ vcpu_count: 1, mem_size_mib: 256 })),
      );
      delays.push(await delayMs());
      await Promise.all(ids.map((id) => service.destroy(id)));
    }
    const snapshot = await service.snapshot(await service.create({ vcpu_count: 1, mem_size_mib: 256 }));
    const before = await service.residentMib();
    const ids = await service.clone(snapshot, LIVE);
    await sleep(SETTLE_MS);
    const each = ((await service.residentMib()) - before) / LIVE;
    const rate = await requestRate(`${service.http.url}/sandboxes`, CONNECTIONS, FOR_MS);
    for (const id of ids) await service.destroy(id);
    await service.deleteSnapshot(snapshot);
    return {
      series: [
        { name: 'resident memory, idle', unit: 'MiB', values: [idle] },
        { name: `more of it for each of ${LIVE} live`, unit: 'MiB', values: [each] },
        { name: `event-loop delay, p99, ${CREATES} creates`, unit: 'ms', values: delays },
        { name: `GET /sandboxes, ${LIVE} live`, unit: 'requests/s', values: [rate] },
      ],
      goals: [
        atMost('resident memory, idle', idle, 110, 'MiB'),
        atMost(`more of it for each of ${LIVE} live`, each, 1, 'MiB'),
        atMost(`event-loop delay, p99, ${CREATES} creates`, Math.max(...delays), 20, 'ms'),
      ],
    };
  },
};
