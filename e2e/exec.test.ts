import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';

const stack = new AsyncDisposableStack();
let client: Client;
let sandbox: Sandbox;

beforeAll(async () => {
  const daemon = stack.use(await Daemon.start());
  client = daemon.client;
  const env = { FROM: 'sandbox', KEPT: 'sandbox', EMPTY: '' };
  sandbox = await createSandbox(client, { name: 'runner', env });
});

afterAll(() => stack.disposeAsync());

describe('result', () => {
  it('has stdout, stderr and exit_code, and no more when all is plain', async () => {
    const answer = await sandbox.post('exec', {
      command: 'sh',
      args: ['-c', 'echo out; echo err >&2; exit 7'],
    });
    expect(answer.status).toBe(200);
    expect(answer.json).toStrictEqual({ stdout: 'out\n', stderr: 'err\n', exit_code: 7 });
  });

  it('needs no args, and works by name', async () => {
    const answer = await client.call('POST', '/sandboxes/runner/exec', { command: 'true' });
    expect(answer.json).toStrictEqual({ stdout: '', stderr: '', exit_code: 0 });
  });

  it.each([
    ['exit 0', 0],
    ['exit 1', 1],
    ['exit 7', 7],
    ['exit 255', 255],
    ['kill -KILL $$', 137],
    ['kill -TERM $$', 143],
    ['kill -SEGV $$', 139],
  ])('%s', async (script, code) => {
    expect(await sandbox.exec('sh', ['-c', script])).toMatchObject({ exit_code: code });
  });

  it.each(['no-such-program', '/no/such/program', './no-such-program'])('127 for %s', async (command) => {
    const { exit_code, stdout, stderr } = await sandbox.exec(command);
    expect({ exit_code, stdout }).toEqual({ exit_code: 127, stdout: '' });
    expect(stderr).toContain(command);
    expect(stderr).toContain('not found');
  });

  it.each(['/etc/passwd', '/etc'])('126 for %s, which is no program', async (command) => {
    const { exit_code, stderr } = await sandbox.exec(command);
    expect(exit_code).toBe(126);
    expect(stderr).toContain(command);
  });

  it('126 for a file that no loader knows', async () => {
    await sandbox.sh('printf "\\001\\002\\003" > /tmp/noise && chmod 755 /tmp/noise');
    expect((await sandbox.exec('/tmp/noise')).exit_code).toBe(126);
  });

  it('126 for arguments that are too long for the guest', async () => {
    expect(await sandbox.exec('true', ['x'.repeat(300_000)])).toMatchObject({ exit_code: 126 });
  });

  it('gives bytes that are not UTF-8 in base64 too', async () => {
    const script = "printf 'a\\377b'; printf '\\300\\200' >&2";
    expect(await sandbox.exec('sh', ['-c', script])).toStrictEqual({
      stdout: 'a\uFFFDb',
      stderr: '\uFFFD\uFFFD',
      exit_code: 0,
      stdout_base64: Buffer.from([0x61, 0xff, 0x62]).toString('base64'),
      stderr_base64: Buffer.from([0xc0, 0x80]).toString('base64'),
    });
  });

  it('leaves UTF-8 and NUL as they are', async () => {
    const { stdout, stdout_base64 } = await sandbox.exec('printf', ['grüße 🏝\\000!']);
    expect(stdout).toBe('grüße 🏝\0!');
    expect(stdout_base64).toBeUndefined();
  });
});

describe('arguments', () => {
  it('are passed as they are: no shell reads them', async () => {
    const args = ['$HOME', '*', 'a b', '', '"q"', "'s'", '`id`', ';', '|', '\\n', '-n', 'ünï', 'a\nb'];
    const { stdout } = await sandbox.exec('python3', [
      '-c',
      'import json,sys;print(json.dumps(sys.argv[1:]))',
      ...args,
    ]);
    expect(JSON.parse(stdout)).toEqual(args);
  });

  it('start with the command as it was given', async () => {
    expect(
      (await sandbox.exec('sh', ['-c', 'tr "\\0" "\\n" < /proc/$$/cmdline'])).stdout.split('\n')[0],
    ).toBe('sh');
  });
});

describe('environment', () => {
  it("is the sandbox's under the call's", async () => {
    const env = { FROM: 'call', NEW: 'call' };
    expect(await sandbox.sh('echo $FROM $KEPT $NEW', { env })).toBe('call sandbox call');
    expect(await sandbox.sh('echo $FROM $KEPT $NEW')).toBe('sandbox sandbox');
    expect(await sandbox.sh('echo "${EMPTY-unset}"')).toBe('');
  });

  it('passes odd names and values on', async () => {
    const env = { 'odd.name-1': 'a=b\nc', ü: 'ö "$x"' };
    const print = 'import json,os;print(json.dumps(dict(os.environ)))';
    const { stdout } = await sandbox.exec('python3', ['-c', print], { env });
    expect(JSON.parse(stdout)).toMatchObject(env);
  });

  it('has what programs expect', async () => {
    expect(await sandbox.sh('echo $HOME')).toBe('/root');
    expect(await sandbox.sh('echo $PATH')).toContain('/usr/bin');
  });

  it('finds programs by the PATH of the call', async () => {
    await sandbox.sh(
      'mkdir -p /opt/own && printf "#!/bin/sh\\necho own" > /opt/own/tool && chmod 755 /opt/own/tool',
    );
    expect((await sandbox.exec('tool', [], { env: { PATH: '/opt/own:/bin' } })).stdout).toBe('own\n');
    expect((await sandbox.exec('tool')).exit_code).toBe(127);
  });
});

describe('place and user', () => {
  it('is / and root when nothing is asked for', async () => {
    expect(await sandbox.sh('pwd; id -u; id -g')).toBe('/\n0\n0');
  });

  it('is the cwd asked for', async () => {
    expect((await sandbox.exec('pwd', [], { cwd: '/usr/lib' })).stdout).toBe('/usr/lib\n');
  });

  it('refuses a cwd that is not there, or is none', async () => {
    expectFailure(
      await sandbox.post('exec', { command: 'pwd', cwd: '/no/such/dir' }),
      400,
      'ENOENT',
      '/no/such/dir',
    );
    expectFailure(
      await sandbox.post('exec', { command: 'pwd', cwd: '/etc/passwd' }),
      400,
      'ENOTDIR',
      '/etc/passwd',
    );
  });

  it.each([
    ['user', '1000:1000'],
    ['nobody', '65534:65534'],
    ['65534', '65534:65534'],
    ['0', '0:0'],
    ['1234:5678', '1234:5678'],
    ['user:nogroup', '1000:65534'],
    ['nobody:0', '65534:0'],
  ])('is the user asked for: %s', async (user, ids) => {
    expect(await sandbox.sh('echo $(id -u):$(id -g)', { user })).toBe(ids);
  });

  it('has no more rights than that user', async () => {
    const { exit_code } = await sandbox.exec('cat', ['/etc/shadow'], { user: 'nobody' });
    expect(exit_code).toBe(1);
    expect(await sandbox.sh('echo $USER $HOME; touch $HOME/own', { user: 'user' })).toBe('user /home/user');
  });
});

describe('input', () => {
  it('is empty when there is none', async () => {
    expect((await sandbox.exec('cat')).stdout).toBe('');
  });

  it('arrives byte by byte', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
    const { stdout } = await sandbox.exec('base64', ['-w0'], { stdin_base64: bytes.toString('base64') });
    expect(stdout).toBe(bytes.toString('base64'));
  });

  it('may be large, and may be left unread', async () => {
    const stdin_base64 = Buffer.alloc(8 * 1024 * 1024, 'x').toString('base64');
    expect((await sandbox.exec('wc', ['-c'], { stdin_base64 })).stdout.trim()).toBe(String(8 * 1024 * 1024));
    expect((await sandbox.exec('true', [], { stdin_base64 })).exit_code).toBe(0);
  });
});

describe('timeout', () => {
  it('kills the command and all it started', async () => {
    const script = 'echo before; sleep 7131 & sleep 7132; echo after';
    const result = await sandbox.exec('sh', ['-c', script], { timeout_ms: 500 });
    expect(result).toStrictEqual({ stdout: 'before\n', stderr: '', exit_code: 124, timed_out: true });
    expect(await sandbox.pgrep('sleep 713')).toEqual([]);
  });

  it('says nothing when the command is faster', async () => {
    const result = await sandbox.exec('echo', ['fast'], { timeout_ms: 60_000 });
    expect(result).toStrictEqual({ stdout: 'fast\n', stderr: '', exit_code: 0 });
  });
});
