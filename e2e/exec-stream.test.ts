import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { peakGrowth } from './harness/host.ts';
import { timed, until, within } from './harness/poll.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { handshakeStatus, Socket } from './harness/socket.ts';

const MIB = 1024 * 1024;
const LOG_BYTES = MIB;
const SOON_MS = 30_000;
const PIECE = 'x'.repeat(MIB / 4);

interface Session {
  readonly id: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly started_at_unix: number;
  readonly exit_code: number | null;
}

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let sandbox: Sandbox;
/** A command that is fed and does not read, meanwhile: it takes half a minute until that is refused. */
let unread: Promise<{ id: string; taken: number; refusal: Answer }>;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  sandbox = await createSandbox(daemon.client);
  unread = feedUntilRefused(await shell('until test -e /tmp/reads; do sleep 0.2; done; wc -c'));
  unread.catch(() => undefined);
});

afterAll(() => stack.disposeAsync());

async function start(command: string, args: readonly string[] = [], more: object = {}, box = sandbox) {
  const answer = await box.post('exec-stream', { command, args, ...more });
  expect(answer.status, answer.text).toBe(200);
  return (answer.json as { id: string }).id;
}

const shell = (script: string, box = sandbox) => start('sh', ['-c', script], {}, box);

function open(id: string, options = {}, box = sandbox): Promise<Socket> {
  return Socket.open(daemon.url, `${box.path}/exec-stream/${id}/logs`, options);
}

async function list(): Promise<Session[]> {
  const { json } = await daemon.client.call('GET', `${sandbox.path}/exec-stream`);
  return (json as { sessions: Session[] }).sessions;
}

/** Reads a log to its end. */
async function read(id: string) {
  using socket = await open(id);
  const { code, reason } = await within('the log ends', socket.closed, SOON_MS);
  return { output: socket.bytes, texts: socket.texts, code, reason };
}

const feed = (id: string, body: object) => sandbox.post(`exec-stream/${id}/stdin`, body);

async function feedUntilRefused(id: string) {
  for (let taken = 0; ; taken += PIECE.length) {
    const refusal = await feed(id, { stdin: PIECE });
    if (refusal.status !== 204) return { id, taken, refusal };
  }
}

const signal = (id: string, query = '') =>
  daemon.client.call('DELETE', `${sandbox.path}/exec-stream/${id}${query}`);

describe('a background command', () => {
  it('answers at once, is listed, and has its exit code once it ends', async () => {
    const { value: id, ms } = await timed(shell('sleep 2; exit 5'));
    expect(ms).toBeLessThan(1000);
    const item = () => list().then((items) => items.find((each) => each.id === id));
    expect(await item()).toEqual({
      id,
      command: 'sh',
      args: ['-c', 'sleep 2; exit 5'],
      started_at_unix: expect.closeTo(Date.now() / 1000, -1) as number,
      exit_code: null,
    });
    expect(await read(id)).toMatchObject({ texts: ['[process exited with code 5]'], code: 1000 });
    expect((await item())?.exit_code).toBe(5);
  });

  it.each([
    ['false', [], 1, ''],
    ['no-such-program', [], 127, 'no-such-program: command not found\n'],
    ['sh', ['-c', 'kill -KILL $$'], 137, ''],
    ['/etc/passwd', [], 126, '/etc/passwd: permission denied\n'],
  ])('%s %j ends with %i', async (command, args, exitCode, output) => {
    const log = await read(await start(command, args));
    expect(log.texts).toEqual([`[process exited with code ${exitCode}]`]);
    expect(log.output.toString()).toBe(output);
  });

  it('takes variables, a directory and a user, and says why it cannot start', async () => {
    const more = { env: { A: '1' }, cwd: '/tmp', user: 'nobody' };
    const log = await read(await start('sh', ['-c', 'echo $A $PWD $(id -un)'], more));
    expect(log.output.toString()).toBe('1 /tmp nobody\n');
    const bad = await read(await start('true', [], { cwd: '/none' }));
    expect(bad.output.toString()).toContain('/none: no such file or directory');
    expect(bad.texts).toEqual(['[process exited with code 126]']);
  });

  it('is fed, to the end of its input', async () => {
    const id = await start('cat');
    expectNoContent(await feed(id, { stdin: 'text, ' }));
    const bytes = randomBytes(300_000);
    expectNoContent(await feed(id, { stdin_base64: bytes.toString('base64') }));
    expectNoContent(await feed(id, { eof: true }));
    expect((await read(id)).output.equals(Buffer.concat([Buffer.from('text, '), bytes]))).toBe(true);
    expectFailure(await feed(id, { stdin: 'late' }), 409, 'SESSION_ENDED', id);
  });

  it('that does not read is fed until there is no room, and has all that was taken once it reads', async () => {
    const { id, taken, refusal } = await unread;
    expectFailure(refusal, 409, 'STDIN_FULL', id);
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThan(4 * MIB);
    await sandbox.sh('touch /tmp/reads');
    expectNoContent(await feed(id, { stdin: 'more', eof: true }));
    expect((await read(id)).output.toString()).toBe(`${taken + 'more'.length}\n`);
  });

  it('that ends while input waits for room takes none of it', async () => {
    const id = await start('sleep', ['1000']);
    let answered = 0;
    const feeding = Array.from({ length: 20 }, () =>
      feed(id, { stdin: PIECE }).finally(() => (answered += 1)),
    );
    await until('some is taken', () => answered > 0, SOON_MS);
    expectNoContent(await signal(id, '?signal=KILL'));
    const answers = await within('the rest is refused', Promise.all(feeding), SOON_MS);
    const refusals = answers.filter(({ status }) => status !== 204);
    expect(refusals.length).toBeGreaterThan(0);
    for (const refusal of refusals) expectFailure(refusal, 409, 'SESSION_ENDED', id);
  });

  it('is ended by a signal, with what it started', async () => {
    const id = await shell('sleep 7171 & sleep 7172');
    await until('it runs', async () => (await sandbox.pgrep('^sleep 717')).length === 2, SOON_MS);
    expectNoContent(await signal(id));
    expect((await read(id)).texts).toEqual(['[process exited with code 143]']);
    expect(await sandbox.pgrep('^sleep 717')).toEqual([]);
    expectNoContent(await signal(id, '?signal=KILL'));
    const stubborn = await shell('trap "" TERM; echo up; while :; do sleep 1; done');
    using log = await open(stubborn);
    await log.shows('up');
    expectNoContent(await signal(stubborn, '?signal=SIGTERM'));
    expectNoContent(await signal(stubborn, '?signal=KILL'));
    expect((await read(stubborn)).texts).toEqual(['[process exited with code 137]']);
    expectFailure(await signal(id, '?signal=NONE'), 400, 'INVALID_REQUEST', 'signal');
  });

  it('that nobody knows is 404, also before an upgrade', async () => {
    const path = `${sandbox.path}/exec-stream/none`;
    expectFailure(await signal('none'), 404, 'NOT_FOUND', 'exec-stream session not found: none');
    expectFailure(await feed('none', {}), 404, 'NOT_FOUND');
    expect(await handshakeStatus(daemon.url, `${path}/logs`)).toBe(404);
    expectFailure(await sandbox.post('exec-stream', {}), 400, 'INVALID_REQUEST', 'command');
    const id = await start('true');
    const plain = await daemon.client.call('GET', `${sandbox.path}/exec-stream/${id}/logs`);
    expectFailure(plain, 426, 'UPGRADE_REQUIRED');
  });
});

describe('its log', () => {
  it('is the same for a reader from the start, one midway and one after the end; binary, in order', async () => {
    const script = `import os, time
for i in range(3000):
    os.write(1, bytes(range(256)) if i % 100 == 0 else b"out %d\\n" % i)
    os.write(2, b"err %d\\n" % i)
    if i == 1500: time.sleep(1.5)`;
    const id = await start('python3', ['-c', script]);
    const first = read(id);
    await sleep(1000);
    const second = read(id);
    const logs = [await first, await second, await read(id)];
    const everyByte = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
    const expected = Buffer.concat(
      Array.from({ length: 3000 }, (_, at) =>
        Buffer.concat([at % 100 === 0 ? everyByte : Buffer.from(`out ${at}\n`), Buffer.from(`err ${at}\n`)]),
      ),
    );
    for (const { output, texts, code } of logs) {
      expect(output.equals(expected)).toBe(true);
      expect({ texts, code }).toEqual({ texts: ['[process exited with code 0]'], code: 1000 });
    }
  });

  it('of more than it keeps begins with how much is missing', async () => {
    const id = await shell(`head -c ${LOG_BYTES + 1234} /dev/zero | tr '\\0' x; printf end`);
    await until(
      'it ends',
      async () => (await list()).find((each) => each.id === id)?.exit_code === 0,
      SOON_MS,
    );
    const { output, texts } = await read(id);
    expect(texts).toEqual(['[... 1237 earlier bytes truncated ...]', '[process exited with code 0]']);
    expect(output).toHaveLength(LOG_BYTES);
    expect(output.subarray(-5).toString()).toBe('xxend');
  });

  it('of 50 MB costs no memory, and tells a slow reader what it missed', async () => {
    const size = 50_000_000;
    const id = await shell(
      `sleep 1; head -c ${size} /dev/urandom | tee /tmp/all | cat; sha256sum /tmp/all >/tmp/sum`,
    );
    using slow = await open(id);
    slow.ws.pause();
    const growth = await peakGrowth(daemon.pid, () =>
      until('it ends', async () => (await list()).find((each) => each.id === id)?.exit_code === 0, 60_000),
    );
    expect(growth).toBeLessThan(80 * MIB);
    slow.ws.resume();
    expect(await within('the log ends', slow.closed, SOON_MS)).toMatchObject({ code: 1000 });
    const skipped = slow.texts.flatMap(
      (text) => /^\[reader fell behind: (\d+) bytes skipped\]$/.exec(text)?.[1] ?? [],
    );
    expect(skipped.length).toBeGreaterThan(0);
    const missing = skipped.reduce((sum, bytes) => sum + Number(bytes), 0);
    expect(slow.bytes.length + missing).toBe(size);
  });

  it('of a hundred at once stays apart', async () => {
    const ids = await Promise.all(
      Array.from({ length: 100 }, (_, at) =>
        shell(`for i in 1 2 3; do echo ${at} $i; sleep 0.5; done; exit ${at}`),
      ),
    );
    const logs = await Promise.all(ids.map(read));
    logs.forEach(({ output, texts }, at) => {
      expect(output.toString()).toBe(`${at} 1\n${at} 2\n${at} 3\n`);
      expect(texts).toEqual([`[process exited with code ${at}]`]);
    });
  });

  it('that floods an absent reader holds up nothing else', async () => {
    const id = await shell('yes');
    using stalled = await open(id);
    stalled.ws.pause();
    await sleep(500);
    const { ms } = await timed(sandbox.sh('true'));
    expect(ms).toBeLessThan(2000);
    expectNoContent(await signal(id, '?signal=KILL'));
  });

  it('closes with the reason when the sandbox is destroyed', async () => {
    await using other = await createSandbox(daemon.client);
    using log = await open(await shell('sleep 100', other), {}, other);
    expectNoContent(await other.destroy());
    expect(await within('it closes', log.closed, SOON_MS)).toEqual({
      code: 1001,
      reason: 'sandbox destroyed',
    });
  });
});

it('a page of another site is kept out where there is no token', async () => {
  const path = `${sandbox.path}/exec-stream/${await start('true')}/logs`;
  const from = (origin: string) => handshakeStatus(daemon.url, path, { headers: { origin } });
  expect(await from('http://evil.example')).toBe(403);
  expect(await from('null')).toBe(403);
  expect(await from(daemon.url)).toBe(101);
});

it('digests of the whole and the missing agree with what the guest wrote', async () => {
  const id = await shell('head -c 900000 /dev/urandom | tee /tmp/part; sha256sum </tmp/part >/tmp/part.sum');
  const { output } = await read(id);
  const sum = createHash('sha256').update(output).digest('hex');
  expect(await sandbox.sh('cat /tmp/part.sum')).toContain(sum);
});
