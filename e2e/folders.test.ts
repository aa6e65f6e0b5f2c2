import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { extract, pack } from 'tar-stream';
import type { Header } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { kibField, peakGrowth } from './harness/host.ts';
import { failureOf, until } from './harness/poll.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';

const run = promisify(execFile);

const MIB = 1024 * 1024;
const LARGE = 256 * MIB;
const FLAT = 150 * MIB;
const LARGE_MS = 300_000;
const SOON_MS = 30_000;

/** What a test says of an entry. */
type Entry = Partial<Header> & { readonly name: string };

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;
let sandbox: Sandbox;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  client = daemon.client;
  sandbox = await createSandbox(client);
});

afterAll(() => stack.disposeAsync());

/** Everything of a tree that an archive keeps. */
const listing = (path: string) =>
  sandbox.sh(
    `cd ${path} && find . -printf '%p %y %m %U:%G %s %T@ %l %n\\n' | grep -v ' s ' | sort && find . -type f -exec sha256sum {} + | sort`,
  );

describe('GET and PUT /sandboxes/:id/archive', () => {
  it('carry a tree with links, modes, owners and times', async () => {
    await sandbox.sh(`mkdir -p /root/tree/sub/deep /root/tree/empty && cd /root/tree
      echo text > plain; ln plain sub/hard; ln -s ../plain sub/soft; ln -s /no/such dangling; mkfifo fifo
      head -c 3000000 /dev/urandom > sub/deep/data; : > nothing; echo tool > tool; chmod 6751 tool; chmod 1777 empty
      long=$(printf 'long%.0s' $(seq 60)); echo l > "$long ü"; chown 1234:70000 plain; chown -h 7:8 dangling; chmod 0 nothing
      touch -d '2001-02-03 04:05:06.789012345' plain; touch -d '1999-01-01' empty sub/deep
      python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'; mknod device c 1 3`);
    const answer = await client.open('GET', archivePath('/root/tree'));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/x-tar');
    expectNoContent(await put('/root/made/anew', answer.body as ReadableStream));
    await sandbox.sh('rm /root/tree/device /root/tree/socket; touch -r /root/made/anew /root/tree');
    expect(await listing('/root/made/anew')).toBe(await listing('/root/tree'));
  });

  it('are understood by tar', async () => {
    await using dir = await temporary();
    await sandbox.sh(
      'mkdir -p /root/for-tar/sub; echo 1 > /root/for-tar/sub/f; chmod 640 /root/for-tar/sub/f',
    );
    await writeFile(join(dir.path, 'out.tar'), await get('/root/for-tar'));
    await mkdir(join(dir.path, 'out'));
    await run('tar', ['-xf', join(dir.path, 'out.tar'), '-C', join(dir.path, 'out')]);
    expect(await readFile(join(dir.path, 'out/sub/f'), 'utf8')).toBe('1\n');
    const { stdout } = await run('tar', ['-c', '-C', join(dir.path, 'out'), '.'], { encoding: 'buffer' });
    expectNoContent(await put('/root/from-tar', new Uint8Array(stdout)));
    expect(await sandbox.sh('stat -c %a /root/from-tar/sub/f; cat /root/from-tar/sub/f')).toBe('640\n1');
  });

  it('carry a single file', async () => {
    await sandbox.sh('echo alone > /root/alone');
    expect(await namesOf(await get('/root/alone'))).toEqual(['./alone']);
  });

  it('leave a directory that is there what it is', async () => {
    await sandbox.sh('mkdir /root/open; chmod 1777 /root/open; echo kept > /root/open/kept');
    expectNoContent(
      await put('/root/open', await tarOf({ name: './', type: 'directory', mode: 0o700 }, { name: 'f' })),
    );
    expect(await sandbox.sh('stat -c %a /root/open; ls /root/open')).toBe('1777\nf\nkept');
  });

  it.each<[string, Entry[], string]>([
    ['a name above', [{ name: '../../escaped' }], '../../escaped'],
    ['an absolute name', [{ name: '/root/escaped' }], '/root/escaped'],
    [
      'a link on the way',
      [{ name: 'out', type: 'symlink', linkname: '/root' }, { name: 'out/escaped' }],
      'out/escaped',
    ],
    [
      'a hard link to what is outside',
      [{ name: 'escaped', type: 'link', linkname: '../../etc/passwd' }],
      'escaped',
    ],
    ['a device', [{ name: 'escaped', type: 'character-device', devmajor: 1, devminor: 3 }], 'escaped'],
  ])('refuse %s', async (_what, headers, named) => {
    expectFailure(await put('/root/a/b', await tarOf(...headers)), 400, 'EINVAL', named);
    expect(await sandbox.sh('find / -xdev -name escaped; true')).toBe('');
  });

  it('refuse what is no archive, and one that is cut off', async () => {
    expectFailure(await put('/root/x', 'no archive'.repeat(100)), 400, 'EINVAL', 'no tar archive');
    expectFailure(await put('/root/x', ''), 400, 'EINVAL', 'cut off');
    const whole = await tarOf({ name: 'first' }, { name: 'second' });
    for (const length of [1024, 1500, 1600, 2048])
      expectFailure(await put('/root/x', whole.slice(0, length)), 400, 'EINVAL', 'cut off');
  });

  it('say what is not there', async () => {
    expectFailure(await client.call('GET', archivePath('/no/such')), 400, 'ENOENT', '/no/such');
    expectFailure(await put('/etc/passwd', await tarOf({ name: 'f' })), 400, 'ENOTDIR', '/etc/passwd');
    expectFailure(await client.call('GET', `${sandbox.path}/archive`), 400, 'INVALID_REQUEST', 'path');
    expectFailure(await client.call('GET', '/sandboxes/none/archive?path=/'), 404, 'NOT_FOUND', 'none');
  });

  it('end in a failure when a file cannot be read to its end', async () => {
    await sandbox.sh('mkdir /root/shrinks; truncate -s 1G /root/shrinks/f');
    const answer = await client.open('GET', archivePath('/root/shrinks'));
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await sandbox.sh(': > /root/shrinks/f');
    const rest = async () => {
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read());
    };
    expect(await failureOf(rest())).toBeInstanceOf(Error);
    await sandbox.sh('rm -r /root/shrinks');
  });

  it('end in a failure when the sandbox does', async () => {
    await using other = await createSandbox(client);
    await other.sh('truncate -s 1G /root/f');
    const answer = await client.open('GET', `${other.path}/archive?path=/root`);
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    expect((await other.destroy()).status).toBe(204);
    const rest = async () => {
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read());
    };
    expect(await failureOf(rest())).toBeInstanceOf(Error);
  });
});

describe('256 MiB', () => {
  it(
    'go out and in with flat memory on both sides',
    async () => {
      await sandbox.sh(`mkdir /root/large; truncate -s ${LARGE} /root/large/f; echo 5 > /proc/1/clear_refs`);
      const before = await agentKib('VmRSS');
      const growth = await peakGrowth(daemon.pid, async () => {
        const answer = await client.open('GET', archivePath('/root/large'));
        expectNoContent(await put('/root/copied', answer.body as ReadableStream));
      });
      expect(growth).toBeLessThan(FLAT);
      expect((await agentKib('VmHWM')) - before).toBeLessThan(FLAT / 1024);
      expect(await sandbox.sh('cmp /root/large/f /root/copied/f && echo same')).toBe('same');
    },
    LARGE_MS,
  );

  it('that a client stops sending leave nothing half made', async () => {
    const gone = new AbortController();
    const endless = pack();
    endless.entry({ name: 'half', size: LARGE }).write(Buffer.alloc(MIB));
    const body = Readable.toWeb(Readable.from(endless)) as ReadableStream;
    const failure = failureOf(put('/root/stopped', body, gone.signal));
    const isThere = async () => (await sandbox.sh('ls /root/stopped; true')).includes('half');
    await until('the upload is under way', isThere, SOON_MS);
    gone.abort(new Error('enough'));
    expect(await failure).toMatchObject({ message: 'enough' });
    await until('the half file is gone', async () => !(await isThere()), SOON_MS);
  });
});

function archivePath(path: string): string {
  return `${sandbox.path}/archive?path=${encodeURIComponent(path)}`;
}

function put(path: string, archive: string | Uint8Array | ReadableStream, signal?: AbortSignal) {
  return client.call('PUT', archivePath(path), archive, signal === undefined ? {} : { signal });
}

async function get(path: string): Promise<Buffer> {
  const answer = await client.open('GET', archivePath(path));
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

/** An archive of these; a file holds one byte. */
async function tarOf(...headers: Entry[]): Promise<Uint8Array<ArrayBuffer>> {
  const archive = pack();
  for (const header of headers) {
    if ((header.type ?? 'file') === 'file') archive.entry(header, 'x');
    else archive.entry(header);
  }
  archive.finalize();
  return new Uint8Array(await buffer(Readable.from(archive)));
}

async function namesOf(archive: Buffer): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of Readable.from([archive]).pipe(extract())) {
    names.push(entry.header.name);
    entry.resume();
  }
  return names;
}

async function agentKib(field: 'VmRSS' | 'VmHWM'): Promise<number> {
  return kibField(await sandbox.sh('cat /proc/1/status'), field);
}

async function temporary() {
  const path = await mkdtemp(join(tmpdir(), 'atoll-folders-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
