import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentLost } from '../../ports/agent.ts';
import type { AgentSession, Command, GuestError } from '../../ports/agent.ts';

export interface AgentUnderTest extends AsyncDisposable {
  readonly agent: AgentSession;
  /** Ends what the agent runs in, as a machine ends that nobody asked to. */
  readonly crash: () => Promise<void>;
}

const { signal } = new AbortController();
const bare: Command = { command: 'true', args: [], env: {} };

const refusedWith = (errno: string) => expect.objectContaining({ errno }) as GuestError;

/** Whether a port is free: it is listened on for a moment. */
async function canListen(agent: AgentSession, port: number): Promise<boolean> {
  const caller = new AbortController();
  const nothing = () => undefined;
  try {
    await agent.listen(port, nothing, nothing, caller.signal);
    return true;
  } catch {
    return false;
  } finally {
    caller.abort(new Error('went away'));
  }
}

/** What every agent keeps. The guest has /tmp and a shell's usual small programs. */
export function agentSuite(name: string, setUp: () => Promise<AgentUnderTest>): void {
  describe(name, () => {
    let it: AgentUnderTest;
    let agent: AgentSession;
    beforeAll(async () => {
      it = await setUp();
      ({ agent } = it);
    });
    afterAll(() => it[Symbol.asyncDispose]());

    async function run(command: Partial<Command>) {
      let [stdout, stderr] = ['', ''];
      const sink = (stream: 'stdout' | 'stderr', chunk: Buffer) => {
        if (stream === 'stdout') stdout += chunk.toString();
        else stderr += chunk.toString();
      };
      const exit = await agent.exec({ ...bare, ...command }, sink, signal);
      return { stdout, stderr, ...exit };
    }

    test('it tells its generation', async () => {
      expect((await agent.health(signal)).generation).toBeGreaterThanOrEqual(1);
    });

    test('a command answers its output and its exit code', async () => {
      expect(await run({ command: 'echo', args: ['a', '$HOME'] })).toMatchObject({
        stdout: 'a $HOME\n',
        exitCode: 0,
      });
      expect(await run({ command: 'false' })).toMatchObject({ stdout: '', exitCode: 1, timedOut: false });
      expect(await run({ command: 'no-such' })).toMatchObject({
        exitCode: 127,
        stderr: 'no-such: command not found\n',
      });
      const stdin = Buffer.alloc(300_000, 'abc');
      expect((await run({ command: 'cat', stdin })).stdout).toBe(stdin.toString());
    });

    test("a call's variables win over the sandbox's", async () => {
      await agent.configure({ env: { A: 'sandbox', B: 'sandbox' } }, signal);
      const { stdout } = await run({ command: 'env', env: { B: 'call', C: 'call' } });
      expect(stdout.split('\n')).toEqual(expect.arrayContaining(['A=sandbox', 'B=call', 'C=call']));
    });

    test('a command that takes too long is killed, and so is one whose caller goes away', async () => {
      expect(await run({ command: 'sleep', args: ['60'], timeoutMs: 50 })).toMatchObject({
        exitCode: 124,
        timedOut: true,
      });
      const caller = new AbortController();
      const call = agent.exec({ ...bare, command: 'sleep', args: ['60'] }, () => undefined, caller.signal);
      setTimeout(() => caller.abort(new Error('went away')), 50);
      await expect(call).rejects.toThrow('went away');
    });

    test('a command runs on beside its call: input, output in order, signals, exit', async () => {
      const cat = await agent.start({ ...bare, command: 'cat' }, signal);
      const input = Buffer.alloc(300_000, 'abc');
      cat.input.write(input);
      cat.input.end();
      expect((await buffer(cat.output)).equals(input)).toBe(true);
      expect(await cat.exited).toMatchObject({ exitCode: 0 });
      const sleeping = await agent.start({ ...bare, command: 'sleep', args: ['60'] }, signal);
      await sleeping.signal('TERM', signal);
      expect(await sleeping.exited).toMatchObject({ exitCode: 143 });
      await expect(sleeping.signal('TERM', signal)).rejects.toThrow(refusedWith('ESRCH'));
      const missing = await agent.start({ ...bare, command: 'no-such' }, signal);
      expect((await buffer(missing.output)).toString()).toBe('no-such: command not found\n');
      expect(await missing.exited).toMatchObject({ exitCode: 127 });
    });

    test('a terminal shows what is typed, has a size, and ends with its shell', async () => {
      const terminal = await agent.terminal({ cols: 80, rows: 24 }, signal);
      await terminal.resize({ cols: 132, rows: 50 }, signal);
      terminal.input.write('exit 3\n');
      expect((await buffer(terminal.output)).toString()).toContain('exit 3');
      expect(await terminal.exited).toMatchObject({ exitCode: 3 });
    });

    test('a port is listened on once, until the caller leaves; one without a server refuses', async () => {
      const caller = new AbortController();
      const nothing = () => undefined;
      await agent.listen(4711, nothing, nothing, caller.signal);
      await expect(agent.listen(4711, nothing, nothing, signal)).rejects.toThrow(refusedWith('EADDRINUSE'));
      caller.abort(new Error('went away'));
      await expect.poll(() => canListen(agent, 4711)).toBe(true);
      await expect(agent.connect(4712, signal)).rejects.toThrow(refusedWith('ECONNREFUSED'));
    });

    test('a file goes in and comes out', async () => {
      const content = Buffer.alloc(200_001, '\0\xffx', 'latin1');
      await agent.writeFile('/tmp/a', content, signal);
      await agent.writeFile('/tmp/b', Readable.from([content]), signal);
      for (const path of ['/tmp/a', '/tmp/b', 'tmp/b']) {
        const { size, body } = await agent.readFile(path, signal);
        expect(size).toBe(content.length);
        expect((await buffer(body)).equals(content)).toBe(true);
      }
      await agent.writeFile('/tmp/a', new Uint8Array(), signal);
      expect(await buffer((await agent.readFile('/tmp/a', signal)).body)).toHaveLength(0);
    });

    test('a file is made with the mode it is to have', async () => {
      await agent.mkdir('/tmp/modes', true, signal);
      await agent.writeFile('/tmp/modes/a', Buffer.from('secret'), signal, 0o600);
      await agent.writeFile('/tmp/modes/b', Buffer.from('open'), signal);
      const entries = await agent.listDir('/tmp/modes', signal);
      expect(entries.map(({ mode }) => mode)).toEqual([0o600, 0o644]);
    });

    test('directories, links and names', async () => {
      await agent.mkdir('/tmp/d/e', true, signal);
      await agent.mkdir('/tmp/d/e', true, signal);
      await agent.writeFile('/tmp/d/f', Buffer.from('12345'), signal);
      await agent.chmod('/tmp/d/f', 0o640, signal);
      await agent.chown('/tmp/d/f', 1, 1, signal);
      await agent.truncate('/tmp/d/f', 3, signal);
      await agent.copy('/tmp/d/f', '/tmp/d/g', signal);
      await agent.rename('/tmp/d/g', '/tmp/d/h', signal);
      await agent.symlink('/tmp/d/f', '/tmp/d/l', signal);
      expect(await agent.readlink('/tmp/d/l', signal)).toBe('/tmp/d/f');
      const entries = await agent.listDir('/tmp/d', signal);
      expect(entries.map(({ name, type }) => `${name} ${type}`)).toEqual([
        'e dir',
        'f file',
        'h file',
        'l symlink',
      ]);
      expect(entries[1]).toMatchObject({ size: 3, mode: 0o640, is_dir: false, is_symlink: false });
      expect(await buffer((await agent.readFile('/tmp/d/l', signal)).body)).toEqual(Buffer.from('123'));
    });

    test.each<[string, string, (agent: AgentSession) => Promise<unknown>]>([
      ['reading what is not there', 'ENOENT', (to) => to.readFile('/none', signal)],
      ['reading a directory', 'EISDIR', (to) => to.readFile('/tmp', signal)],
      ['writing where no directory is', 'ENOENT', (to) => to.writeFile('/none/a', Buffer.alloc(1), signal)],
      ['making what is there', 'EEXIST', (to) => to.mkdir('/tmp', false, signal)],
      ['reading the target of no link', 'EINVAL', (to) => to.readlink('/tmp', signal)],
      ['listing what is not there', 'ENOENT', (to) => to.listDir('/none', signal)],
      ['moving what is not there', 'ENOENT', (to) => to.rename('/none', '/tmp/x', signal)],
    ])('%s is refused with %s', async (_what, errno, act) => {
      await expect(act(agent)).rejects.toThrow(refusedWith(errno));
    });

    test('a directory goes out as an archive and comes in from one', async () => {
      await agent.mkdir('/tmp/tree/sub', true, signal);
      await agent.writeFile('/tmp/tree/f', Buffer.alloc(100_000, 'abc'), signal, 0o600);
      await agent.writeFile('/tmp/tree/sub/g', Buffer.from('g'), signal);
      await agent.symlink('../f', '/tmp/tree/sub/l', signal);
      const archive = await buffer((await agent.readArchive('/tmp/tree', signal)).body);
      await agent.writeArchive('/tmp/made/anew', Readable.from([archive]), signal);
      const list = async (path: string) =>
        (await agent.listDir(path, signal)).map(({ name, mode }) => ({ name, mode }));
      expect(await list('/tmp/made/anew')).toEqual(await list('/tmp/tree'));
      expect(await list('/tmp/made/anew/sub')).toEqual(await list('/tmp/tree/sub'));
      expect(await agent.readlink('/tmp/made/anew/sub/l', signal)).toBe('../f');
      const { body } = await agent.readFile('/tmp/made/anew/f', signal);
      expect((await buffer(body)).equals(Buffer.alloc(100_000, 'abc'))).toBe(true);
    });

    test('a single file goes out as an archive too', async () => {
      await agent.writeFile('/tmp/alone', Buffer.from('alone'), signal);
      const { body } = await agent.readArchive('/tmp/alone', signal);
      await agent.writeArchive('/tmp/around', body, signal);
      expect((await agent.listDir('/tmp/around', signal)).map(({ name }) => name)).toEqual(['alone']);
    });

    test('an archive that is none or leads out is refused', async () => {
      const none = Readable.from([Buffer.alloc(2000, 'x')]);
      await expect(agent.writeArchive('/tmp/x', none, signal)).rejects.toThrow(refusedWith('EINVAL'));
      const above = pack();
      above.entry({ name: '../above' }, 'x');
      above.finalize();
      const call = agent.writeArchive('/tmp/x', Readable.from(above), signal);
      await expect(call).rejects.toThrow(refusedWith('EINVAL'));
      await expect(call).rejects.toThrow('../above');
      await expect(agent.readFile('/tmp/above', signal)).rejects.toThrow(refusedWith('ENOENT'));
      await expect(agent.readArchive('/none', signal)).rejects.toThrow(refusedWith('ENOENT'));
    });

    test('one that was quiesced takes no calls until it is woken, and has forgotten nothing', async () => {
      await agent.configure({ env: { KEPT: 'yes' } }, signal);
      await agent.quiesce(signal);
      await expect(agent.health(signal)).rejects.toThrow(AgentLost);
      agent.wake();
      let printed = '';
      await agent.exec({ ...bare, command: 'env' }, (_, chunk) => (printed += chunk.toString()), signal);
      expect(printed).toContain('KEPT=yes\n');
    });

    test('drives that are not there are refused, and without any there is nothing to freeze', async () => {
      await agent.mountDrives([], signal);
      await agent.freezeDrives(signal);
      const drive = { id: 'd', serial: 'no-such-disk', label: 'l', readOnly: true };
      await expect(agent.mountDrives([drive], signal)).rejects.toThrow(refusedWith('ENODEV'));
    });

    test('when its machine ends, calls in flight and later ones learn it', async () => {
      const call = agent.exec({ ...bare, command: 'sleep', args: ['60'] }, () => undefined, signal);
      const outcome = expect(call).rejects.toThrow(AgentLost);
      await it.crash();
      await outcome;
      await expect(agent.health(signal)).rejects.toThrow(AgentLost);
    });
  });
}
