import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { peakGrowth } from '../../e2e/harness/host.ts';
import type { AgentSession } from '../../packages/daemon/src/ports/agent.ts';
import { inRounds, timeOf } from '../lab.ts';
import type { Lab } from '../lab.ts';
import { atLeast, atMost } from '../scenario.ts';
import type { Goal, Outcome, Scenario } from '../scenario.ts';
import { Service } from '../service.ts';
import type { Series } from '../statistics.ts';
import { medianRatio } from '../statistics.ts';

const MIB = 1024 * 1024;
const CHUNK = Buffer.alloc(MIB, 'atoll');

// In the guest's memory: its disk is not what is measured.
const PATH = '/dev/shm/file';
const MEMORY_MIB = 3072;

const SIZES = [
  { name: '1 KB', bytes: 1024, share: 5 },
  { name: '1 MB', bytes: MIB, share: 1 },
  { name: '1 GiB', bytes: 1024 * MIB, share: 0.2 },
];

/** Files of three sizes up and down, through the service and through the channel to the agent alone. */
export const files: Scenario = {
  name: 'files',
  title: 'File transfer',
  async run({ rounds, bare }: Lab): Promise<Outcome> {
    await using service = await Service.start();
    const id = await service.create({ vcpu_count: 2, mem_size_mib: MEMORY_MIB });
    await using machine = await bare.boot({ vcpuCount: 2, memSizeMib: MEMORY_MIB });
    const series: Series[] = [];
    const goals: Goal[] = [];
    for (const { name, bytes, share } of SIZES) {
      const measured = await inRounds(Math.max(2, Math.round(rounds * share)), async () => ({
        up: await timeOf(() => upload(service, id, bytes)),
        rawUp: await timeOf(() => machine.session.writeFile(PATH, content(bytes), limit())),
        down: await timeOf(() => download(service, id)),
        rawDown: await timeOf(() => readBare(machine.session)),
      }));
      const of = (key: keyof (typeof measured)[number]) => measured.map((each) => each[key]);
      const isLarge = bytes > 100 * MIB;
      const figure = (ms: number[]) => (isLarge ? ms.map((each) => bytes / 1e6 / (each / 1000)) : ms);
      const unit = isLarge ? 'MB/s' : 'ms';
      series.push(
        { name: `${name} up`, unit, values: figure(of('up')) },
        { name: `${name} up, channel alone`, unit, values: figure(of('rawUp')) },
        { name: `${name} down`, unit, values: figure(of('down')) },
        { name: `${name} down, channel alone`, unit, values: figure(of('rawDown')) },
      );
      if (!isLarge) continue;
      goals.push(
        atLeast(`${name} up / channel alone`, 1 / medianRatio(of('up'), of('rawUp')), 0.6, '×'),
        atLeast(`${name} down / channel alone`, 1 / medianRatio(of('down'), of('rawDown')), 0.6, '×'),
      );
    }
    const { pid } = service.daemon;
    const growth = await peakGrowth(pid, async () => {
      await upload(service, id, 1024 * MIB);
      await download(service, id);
    });
    await service.destroy(id);
    goals.push(atMost('growth of the daemon, 1 GiB up and down', growth / MIB, 64, 'MiB'));
    return { series, goals };
  },
};

function content(bytes: number): Readable {
  return Readable.from(
    (function* () {
      for (let left = bytes; left > 0; left -= MIB) yield left < MIB ? CHUNK.subarray(0, left) : CHUNK;
    })(),
    { objectMode: false },
  );
}

async function upload({ http }: Service, id: string, bytes: number): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream', 'content-length': String(bytes) };
  (await http.open('PUT', `/sandboxes/${id}/files?path=${PATH}`, content(bytes), headers)).resume();
}

async function download({ http }: Service, id: string): Promise<void> {
  await drain(await http.open('GET', `/sandboxes/${id}/files?path=${PATH}`));
}

async function readBare(session: AgentSession): Promise<void> {
  await drain((await session.readFile(PATH, limit())).body);
}

function drain(source: Readable): Promise<void> {
  return pipeline(source, new Writable({ write: (_chunk, _encoding, done) => done() }));
}

function limit(): AbortSignal {
  return AbortSignal.timeout(600_000);
}
