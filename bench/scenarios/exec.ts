import { execBare } from '../bare.ts';
import { inRounds, timeOf } from '../lab.ts';
import type { Lab } from '../lab.ts';
import { atMost } from '../scenario.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';
import { median } from '../statistics.ts';

// Warm is what is asked for: V8 compiles what ran some hundred times, and a guest that waited has to find its code in the caches again.
const WARM_UP = 300;
const CALLS_A_ROUND = 20;
const FIRST_UNCOUNTED = 5;

const SANDBOXES = 8;
const EXECS = 1000;

/** Spawns `true` again and again inside the guest, and says how many milliseconds each took. */
const SPAWN_INSIDE = `
import json, os, sys, time
times = []
for _ in range(int(sys.argv[1])):
    started = time.perf_counter()
    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)
    times.append((time.perf_counter() - started) * 1000)
print(json.dumps(times))
`;

/** An exec of \`true\` through the service, through the agent alone, and as the guest spawns it itself; and many at once. */
export const exec: Scenario = {
  name: 'exec',
  title: 'Exec round trip',
  async run({ rounds, bare }: Lab): Promise<Outcome> {
    await using service = await Service.start();
    const id = await service.create();
    const { vcpuCount, memSizeMib } = bare.config.sizes;
    await using machine = await bare.boot({ vcpuCount, memSizeMib });
    const signal = AbortSignal.timeout(600_000);
    const calls = {
      service: () => service.exec(id, 'true'),
      agent: () => execBare(machine.session, 'true'),
      ping: () => machine.session.health(signal),
    };
    for (let at = 0; at < WARM_UP; at += 1) {
      await calls.service();
      await calls.agent();
    }
    const measured = await inRounds(rounds, async () => ({
      service: await inARow(calls.service),
      agent: await inARow(calls.agent),
      ping: await inARow(calls.ping),
      inside: await insideOf(service, id),
    }));
    await service.destroy(id);
    const of = (key: keyof (typeof measured)[number]) => measured.flatMap((each) => each[key]);
    return {
      series: [
        { name: 'POST …/exec', unit: 'ms', values: of('service') },
        { name: 'exec by the agent alone', unit: 'ms', values: of('agent') },
        { name: 'the agent’s answer to a ping', unit: 'ms', values: of('ping') },
        { name: 'the same spawn inside the guest', unit: 'ms', values: of('inside') },
        { name: `${EXECS} over ${SANDBOXES} sandboxes`, unit: 'requests/s', values: [await crowd(service)] },
      ],
      goals: [
        atMost(
          'POST …/exec, above the spawn inside the guest',
          median(of('service')) - median(of('inside')),
          1.5,
          'ms',
        ),
      ],
    };
  },
};

/** Milliseconds of each of CALLS_A_ROUND calls, behind some that are not counted. */
async function inARow(call: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  while (times.length < FIRST_UNCOUNTED + CALLS_A_ROUND) times.push(await timeOf(call));
  return times.slice(FIRST_UNCOUNTED);
}

/** The same of spawns inside the guest. */
async function insideOf(service: Service, id: string): Promise<number[]> {
  const count = String(FIRST_UNCOUNTED + CALLS_A_ROUND);
  const times = JSON.parse(await service.exec(id, 'python3', ['-c', SPAWN_INSIDE, count])) as number[];
  return times.slice(FIRST_UNCOUNTED);
}

/** Execs a second, one after the other in each sandbox. */
async function crowd(service: Service): Promise<number> {
  const ids: string[] = [];
  while (ids.length < SANDBOXES) ids.push(await service.create({ vcpu_count: 1, mem_size_mib: 256 }));
  const wall = await timeOf(() =>
    Promise.all(
      ids.map(async (id) => {
        for (let at = 0; at < EXECS / SANDBOXES; at += 1) await service.exec(id, 'true');
      }),
    ),
  );
  for (const id of ids) await service.destroy(id);
  return EXECS / (wall / 1000);
}
