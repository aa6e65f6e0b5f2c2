import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { openFds } from './harness/host.ts';
import { failureOf, timed, until } from './harness/poll.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';

const TEN_MB = 10_000_000;
const LIMIT = 11_000_000;

// Far below what the commands here would take, far above what their calls need.
const SOON_MS = 20_000;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let sandbox: Sandbox;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_MAX_EXEC_OUTPUT_BYTES: String(LIMIT) }));
  sandbox = await createSandbox(daemon.client);
});

afterAll(() => stack.disposeAsync());

describe('output', () => {
  it('of 10 MB on both streams at once is intact', async () => {
    const script = `seq 1 2000000 | head -c ${TEN_MB} & seq 3000000 5000000 | head -c ${TEN_MB} >&2; wait`;
    const result = await sandbox.exec('sh', ['-c', script]);
    expect(result.exit_code).toBe(0);
    expect(digest(result.stdout)).toBe(digest(sequence(1)));
    expect(digest(result.stderr)).toBe(digest(sequence(3_000_000)));
    expect(result).not.toHaveProperty('truncated');
  });

  it('beyond the limit is dropped and said so, each stream on its own', async () => {
    const script = `head -c ${LIMIT + 1} /dev/zero | tr '\\0' x; echo short >&2; echo end`;
    const result = await sandbox.exec('sh', ['-c', script]);
    expect(result.truncated).toBe(true);
    expect(result.stdout).toHaveLength(LIMIT);
    expect(result).toMatchObject({ stderr: 'short\n', exit_code: 0 });
  });

  it('of exactly the limit is whole', async () => {
    const result = await sandbox.exec('sh', ['-c', `head -c ${LIMIT} /dev/zero | tr '\\0' x`]);
    expect(result.stdout).toHaveLength(LIMIT);
    expect(result).not.toHaveProperty('truncated');
  });

  it('without end costs the daemon nothing but the limit', async () => {
    const result = await sandbox.exec('cat', ['/dev/zero'], { timeout_ms: 3000 });
    expect(result).toMatchObject({ exit_code: 124, timed_out: true, truncated: true });
    expect(result.stdout).toHaveLength(LIMIT);
  });
});

describe('many at once', () => {
  it('50 commands in one sandbox keep their own output', async () => {
    const numbers = Array.from({ length: 50 }, (_, at) => at);
    const results = await Promise.all(
      numbers.map((at) =>
        sandbox.exec('sh', ['-c', `echo out ${at}; sleep 1; echo err ${at} >&2; exit ${at}`]),
      ),
    );
    expect(results).toEqual(
      numbers.map((at) => ({ stdout: `out ${at}\n`, stderr: `err ${at}\n`, exit_code: at })),
    );
  });

  it('200 one after the other leave no open file', async () => {
    await sandbox.exec('true');
    const before = await openFds(daemon.pid);
    for (let at = 0; at < 200; at++) await sandbox.exec('true');
    expect(await openFds(daemon.pid)).toBeLessThanOrEqual(before + 2);
  });

  it('a flood that nobody reads does not hold up the next command', async () => {
    const flood = new AbortController();
    const flooded = failureOf(sandbox.exec('yes', [], {}, { signal: flood.signal }));
    await until('the flood runs', async () => (await sandbox.pgrep('^yes$')).length > 0, SOON_MS);
    expect(await sandbox.sh('echo through')).toBe('through');
    flood.abort();
    await flooded;
  });
});

describe('lives of processes', () => {
  it('a child that keeps the pipe does not hang the call, and stays alive', async () => {
    const { value, ms } = await timed(sandbox.exec('sh', ['-c', 'sleep 8141 & echo started']));
    expect(value).toStrictEqual({ stdout: 'started\n', stderr: '', exit_code: 0 });
    expect(ms).toBeLessThan(SOON_MS);
    expect(await sandbox.pgrep('sleep 8141')).toHaveLength(1);
    // It may go on writing, to nobody.
    const chatter = 'i=0; while [ $i -lt 3000 ]; do echo chatter; i=$((i+1)); done; echo $i > /tmp/chatted';
    expect((await sandbox.exec('sh', ['-c', `(sleep 1; ${chatter}) & echo $!`])).exit_code).toBe(0);
    const isDone = async () => (await sandbox.exec('cat', ['/tmp/chatted'])).stdout === '3000\n';
    await until('the child went on', isDone, SOON_MS);
  });

  it('a client that goes away takes its command with it, and what that started', async () => {
    const gone = new AbortController();
    const script = 'sleep 9151 & sleep 9152';
    const failure = failureOf(sandbox.exec('sh', ['-c', script], {}, { signal: gone.signal }));
    await until('the command runs', async () => (await sandbox.pgrep('^sleep 915')).length === 2, SOON_MS);
    gone.abort(new Error('gone'));
    expect(await failure).toMatchObject({ message: 'gone' });
    await until(
      'the command is killed',
      async () => (await sandbox.pgrep('^sleep 915')).length === 0,
      SOON_MS,
    );
  });

  it('orphans are reaped', async () => {
    await sandbox.sh('for i in 1 2 3 4 5 6 7 8; do (sh -c "exit 3" &) ; done; (sh -c "sleep 0.2" &)');
    const noZombies = async () => !/^Z/m.test(await sandbox.sh('ps -eo stat='));
    await until('no zombie is left', noZombies, SOON_MS);
  });

  it('a command cannot end the sandbox by killing the first process', async () => {
    expect(await sandbox.sh('kill -TERM 1; kill -KILL 1; echo still here')).toBe('still here');
    expect(await sandbox.sh('echo alive')).toBe('alive');
  });

  it('a command that kills every process leaves the agent alive', async () => {
    await sandbox.exec('sh', ['-c', 'kill -KILL -1; sleep 1']);
    expect(await sandbox.sh('echo alive')).toBe('alive');
  });
});

/** The first 10 MB of the whole numbers from here, one a line. */
function sequence(from: number): string {
  const lines: string[] = [];
  for (let length = 0, next = from; length < TEN_MB; next++) {
    const line = `${next}\n`;
    lines.push(line);
    length += line.length;
  }
  return lines.join('').slice(0, TEN_MB);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
