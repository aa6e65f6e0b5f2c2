import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SETTLE_MS } from './domain/drive-settling.ts';
import { SHUTDOWN_MS, shutDown } from './shutdown.ts';
import { fakeService } from './testing/fake-service.ts';

const signal = AbortSignal.timeout(60_000);
const SIZES = { vcpuCount: 1, maxVcpuCount: 2, memSizeMib: 128, maxMemSizeMib: 256 };

type Line = Readonly<Record<string, unknown>>;
let it: Awaited<ReturnType<typeof fakeService>>;
let lines: Line[];
let writer: string;
let drive: string;

beforeEach(async () => {
  lines = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as Line);
      done();
    },
  });
  it = await fakeService({ sizes: SIZES, log: pino(sink) });
  drive = (await it.services.drives.create({ size_mib: 8 }, signal)).id;
  const other = await it.services.drives.create({ size_mib: 8 }, signal);
  const drives = [{ id: drive }, { id: other.id, read_only: true }];
  writer = (await it.services.sandboxes.create({ drives }, signal)).id;
});
afterEach(() => vi.useRealTimers());

/** Ends the service, while its guest takes that for writing out its drives. */
function shutDownDuring(writingOut: Promise<void>) {
  const [session] = [...it.fakes.agent.sessions.values()];
  if (session === undefined) throw new Error('no guest');
  vi.spyOn(session, 'freezeDrives').mockImplementation((given?: AbortSignal) =>
    Promise.race([writingOut, aborted(given)]),
  );
  return shutDown({ log: it.log, stop: it, present: () => it.registry.present() });
}

async function aborted(given?: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  given?.addEventListener('abort', () => reject(given.reason as Error), { once: true });
  await promise;
}

const errors = () => lines.filter(({ level }) => level === pino.levels.values['error']);

test('a guest that writes its drives out for long is waited for', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const outcome = shutDownDuring(promise);
  await vi.advanceTimersByTimeAsync(SETTLE_MS - 1000);
  expect(it.fakes.vmm.machines.size).toBe(1);
  resolve(undefined);
  expect(await outcome).toBe('stopped');
  expect(it.fakes.vmm.machines.size).toBe(0);
  expect(errors()).toEqual([]);
  expect(lines.map(({ msg }) => msg)).toContain('stopped');
});

test('one that takes too long is cut off, and the log says of which drives', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const outcome = shutDownDuring(new Promise(() => undefined));
  await vi.advanceTimersByTimeAsync(SETTLE_MS);
  expect(await outcome).toBe('stopped');
  expect(errors()).toMatchObject([
    {
      msg: 'drives not written out',
      sandbox_id: writer,
      drive_ids: [drive],
      reason: expect.stringContaining(`took longer than ${SETTLE_MS} ms`) as string,
    },
  ]);
});

test('a shutdown that hangs is given up, and the log names what was not ended', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const [machine] = [...it.fakes.vmm.machines.values()];
  if (machine === undefined) throw new Error('no machine');
  vi.spyOn(machine, 'stop').mockReturnValueOnce(promise);
  const outcome = shutDownDuring(Promise.resolve());
  await vi.advanceTimersByTimeAsync(SHUTDOWN_MS);
  expect(await outcome).toBe('hangs');
  expect(errors()).toMatchObject([{ after_ms: SHUTDOWN_MS, sandboxes: [writer], unwritten_drives: [drive] }]);
  resolve(undefined);
});
