import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { until, within } from './harness/poll.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { Screen } from './harness/screen.ts';
import { handshakeStatus, Socket } from './harness/socket.ts';

const SOON_MS = 30_000;
const PROTOCOL = 'atoll.pty.v1';
const MAX_SESSIONS = 64;
// A person at a keyboard: the target for the echo of a key while 20 of them type.
const ECHO_MS = 50;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let sandbox: Sandbox;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  sandbox = await createSandbox(daemon.client, { env: { FROM_SANDBOX: 'yes' } });
});

afterAll(() => stack.disposeAsync());

const pty = (query = '', options = {}) => Socket.open(daemon.url, `${sandbox.path}/pty${query}`, options);

/** A terminal whose shell has a prompt that is easy to find. */
async function shell(query = '', options = {}): Promise<Socket> {
  const socket = await pty(query, options);
  // Without line editing the shell neither echoes nor decorates what it prints.
  socket.ws.send("exec bash --login --noediting\nPS1='rea''dy> '; stty -echo\n");
  await socket.shows('ready> ');
  return socket;
}

describe('a terminal', () => {
  it('runs the login shell of root, at home, with the variables of the sandbox', async () => {
    using socket = await pty();
    socket.ws.send('shopt -q login_shell && echo "<$0 $PWD $TERM $FROM_SANDBOX $(tty)" "$(stty size)>"\n');
    await socket.shows('<-bash /root xterm-256color yes /dev/pts/');
    await socket.shows(' 24 80>');
  });

  it('draws a full screen at 80x24 and, resized, at 132x50', async () => {
    await sandbox.sh('seq -f "line %g of the file" 1 200 > /tmp/lines');
    using socket = await pty('', { protocol: PROTOCOL, raw: true });
    expect(socket.ws.protocol).toBe(PROTOCOL);
    const screen = new Screen(socket, 80, 24);
    screen.type('vi /tmp/lines\r');
    await screen.shows(/"\/tmp\/lines" 200/);
    expect(screen.lines().slice(0, 23)).toEqual(numbered(1, 23));
    screen.resize(132, 50);
    await screen.shows(/^line 49 of the file$/);
    expect(screen.events).toContainEqual({ type: 'resized', cols: 132, rows: 50 });
    expect(screen.lines().slice(0, 49)).toEqual(numbered(1, 49));
    screen.type('50GO');
    screen.type('Grüße 漢字\x1b');
    await screen.shows(/^Grüße 漢字$/);
    screen.type(':wq\r');
    await screen.shows(/^root@[^ ]*# *$/);
    screen.type('exit 7\r');
    expect(await within('it closes', socket.closed, SOON_MS)).toEqual({ code: 1000, reason: 'exit 7' });
    expect(screen.events.at(-1)).toEqual({ type: 'exit', exit_code: 7 });
    expect(await sandbox.sh('sed -n 50p /tmp/lines')).toBe('Grüße 漢字');
  });

  it('has the size of its query', async () => {
    using socket = await shell('?cols=100&rows=33');
    socket.ws.send('stty size\n');
    await socket.shows('33 100');
    for (const query of ['?cols=0', '?rows=-1', '?cols=x', '?cols=70000', '?size=1'])
      expect(await handshakeStatus(daemon.url, `${sandbox.path}/pty${query}`)).toBe(400);
  });

  it('says what is wrong with a control, and goes on', async () => {
    using socket = await pty('', { protocol: PROTOCOL });
    for (const text of ['no json', '{"type":"resize","cols":0,"rows":1}', '{"type":"dance"}', '[]'])
      socket.ws.send(text);
    await until('each is answered', () => socket.texts.length === 4, SOON_MS);
    expect(new Set(socket.texts.map((text) => (JSON.parse(text) as { type: string }).type))).toEqual(
      new Set(['error']),
    );
    socket.ws.send(Buffer.from('echo $((6*7))\n'));
    await socket.shows('42');
  });

  it('passes Ctrl-C on, to what runs and not to the shell', async () => {
    using socket = await shell();
    socket.ws.send('sleep 300\n');
    await until('it runs', async () => (await sandbox.pgrep('^sleep 300')).length === 1, SOON_MS);
    socket.ws.send(Buffer.from([3]));
    await until('it ends', async () => (await sandbox.pgrep('^sleep 300')).length === 0, SOON_MS);
    socket.ws.send('echo interrupted with $?\n');
    await socket.shows('interrupted with 130');
  });

  it('takes a paste of 1 MB whole, and shows 20 MB', async () => {
    using socket = await shell();
    const line = `${'0123456789'.repeat(9)}\n`;
    const paste = Buffer.from(line.repeat(Math.ceil(1_000_000 / line.length)));
    socket.ws.send('cat > /tmp/paste; echo done with $?\n');
    await until('cat runs', async () => (await sandbox.pgrep('^cat$')).length === 1, SOON_MS);
    socket.ws.send(paste);
    socket.ws.send(Buffer.from([4]));
    await socket.shows('done with 0', 60_000);
    expect(await sandbox.sh('sha256sum /tmp/paste')).toContain(
      createHash('sha256').update(paste).digest('hex'),
    );
    socket.ws.send('stty -opost; head -c 20000000 /dev/zero | tr "\\0" x; echo "<end>"\n');
    await socket.shows('<end>\n', 60_000);
    expect(socket.bytes.toString('latin1').replaceAll(/[^x]/g, '').length).toBeGreaterThanOrEqual(20_000_000);
  });

  it('whose client does not read stops its program, and nothing else', async () => {
    using socket = await shell();
    socket.ws.pause();
    socket.ws.send('yes\n');
    await until('it runs', async () => (await sandbox.pgrep('^yes$')).length === 1, SOON_MS);
    const times = () => sandbox.sh('cut -d" " -f14,15 /proc/$(pgrep -x yes)/stat');
    const isStill = async () => {
      const before = await times();
      await sleep(1000);
      return (await times()) === before;
    };
    await until('it waits', isStill, SOON_MS);
  });
});

describe('the end of a terminal', () => {
  it('of a client that leaves is that of all that runs on it', async () => {
    const socket = await shell();
    socket.ws.send("sleep 8181 & (trap '' HUP TERM; sleep 8182; :); sleep 8183\n");
    await until('all run', async () => (await sandbox.pgrep('^sleep 818')).length === 2, SOON_MS);
    socket[Symbol.dispose]();
    await until('none is left', async () => (await sandbox.pgrep('^sleep 818')).length === 0, SOON_MS);
    expect(await sandbox.pgrep('^-bash')).toEqual([]);
  });

  it('is said where the sandbox is destroyed', async () => {
    await using other = await createSandbox(daemon.client);
    using socket = await Socket.open(daemon.url, `${other.path}/pty`);
    expectNoContent(await other.destroy());
    expect(await within('it closes', socket.closed, SOON_MS)).toEqual({
      code: 1001,
      reason: 'sandbox destroyed',
    });
  });

  it('comes with 128 and the signal that killed the shell', async () => {
    using socket = await shell();
    socket.ws.send('kill -KILL $$\n');
    expect(await within('it closes', socket.closed, SOON_MS)).toEqual({ code: 1000, reason: 'exit 137' });
  });
});

describe('many terminals', () => {
  it('20 typing at once echo within 50 ms in the median', async () => {
    await using group = new AsyncDisposableStack();
    const sockets = await Promise.all(Array.from({ length: 20 }, () => pty()));
    for (const socket of sockets) group.use(socket);
    for (const socket of sockets) socket.ws.send('cat\n');
    await until('all read', async () => (await sandbox.pgrep('^cat$')).length === 20, SOON_MS);
    await sleep(500);
    const times = (await Promise.all(sockets.map((socket) => typeKeys(socket, 30))))
      .flat()
      .sort((a, b) => a - b);
    const median = times[Math.floor(times.length / 2)] ?? Infinity;
    console.info(
      `echo: median ${median.toFixed(1)} ms, p95 ${times[Math.floor(times.length * 0.95)]?.toFixed(1)} ms`,
    );
    expect(median).toBeLessThan(ECHO_MS);
  });

  it(`the one after ${MAX_SESSIONS} is refused before the upgrade, until one ends`, async () => {
    await using other = await createSandbox(daemon.client);
    const path = `${other.path}/pty`;
    const sockets = await Promise.all(
      Array.from({ length: MAX_SESSIONS }, () => Socket.open(daemon.url, path)),
    );
    expect(await handshakeStatus(daemon.url, path)).toBe(409);
    const metrics = (await daemon.client.call('GET', '/metrics')).text;
    expect(metrics).toMatch(/^streams_open\{kind="pty"\} 64$/m);
    sockets[0]?.ws.terminate();
    await until('one may open again', async () => (await handshakeStatus(daemon.url, path)) === 101, SOON_MS);
    for (const socket of sockets) socket.ws.terminate();
    await until('no shell is left', async () => (await other.pgrep('^-bash')).length === 0, SOON_MS);
  });
});

it('is refused to what is no handshake, and to a sandbox that is not', async () => {
  expectFailure(await daemon.client.call('GET', `${sandbox.path}/pty`), 426, 'UPGRADE_REQUIRED');
  expect(await handshakeStatus(daemon.url, '/sandboxes/none/pty')).toBe(404);
});

function numbered(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at} of the file`);
}

/** Types keys like a person, and measures in milliseconds how long each takes to appear. */
async function typeKeys(socket: Socket, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const key = 'abcdefghij'[at % 10] ?? 'a';
    const { promise, resolve } = Promise.withResolvers<number>();
    const onMessage = (data: Buffer) => {
      if (data.includes(key)) resolve(performance.now());
    };
    socket.ws.on('message', onMessage);
    const typed = performance.now();
    socket.ws.send(key);
    times.push((await within(`${key} is echoed`, promise, SOON_MS)) - typed);
    socket.ws.off('message', onMessage);
    await sleep(60 + Math.random() * 60);
  }
  return times;
}
