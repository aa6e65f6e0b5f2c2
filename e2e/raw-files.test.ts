import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectNoContent } from './harness/failure.ts';
import { kibField, peakGrowth } from './harness/host.ts';
import { transferSize } from './harness/large.ts';
import { failureOf, until } from './harness/poll.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';

const MIB = 1024 * 1024;
const LARGE_MIB = transferSize({ full: 2048, usual: 512 });
const LARGE = LARGE_MIB * MIB;
const FLAT = 150 * MIB;

// Two ways through an emulated machine at some 50 MiB/s, and a digest on the way.
const LARGE_MS = 900_000;
const SOON_MS = 30_000;

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

describe('GET and PUT /sandboxes/:id/files', () => {
  it.each([
    ['text', Buffer.from('plain\n')],
    ['nothing', Buffer.alloc(0)],
    ['binary', Buffer.from(Array.from({ length: 1000 }, (_, at) => at % 256))],
  ])('carry %s', async (what, content) => {
    expectNoContent(await put(`/tmp/${what}`, new Uint8Array(content)));
    const answer = await client.open('GET', filesPath(`/tmp/${what}`));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    if (content.length > 0) expect(answer.headers.get('content-length')).toBe(String(content.length));
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(content);
  });

  it('make an empty file of a request without a body', async () => {
    await sandbox.sh('echo old > /tmp/emptied');
    expectNoContent(await client.call('PUT', filesPath('/tmp/emptied')));
    expect(await sandbox.sh('stat -c %s /tmp/emptied')).toBe('0');
  });

  it('take JSON as bytes, too', async () => {
    const headers = { 'content-type': 'application/json' };
    expectNoContent(await client.call('PUT', filesPath('/tmp/json'), '{not json', { headers }));
    expect(await sandbox.sh('cat /tmp/json')).toBe('{not json');
  });

  it('take any name', async () => {
    const path = '/tmp/ü 🏝&=+#?%41';
    expectNoContent(await put(path, 'named'));
    expect((await sandbox.exec('cat', [path])).stdout).toBe('named');
    expect((await client.call('GET', filesPath(path))).text).toBe('named');
  });

  it('read files of the kernel, whose length nobody knows', async () => {
    expect((await client.call('GET', filesPath('/proc/version'))).text).toContain('Linux');
  });
});

describe(`${LARGE_MIB} MiB`, () => {
  let uploaded: string;

  it(
    'go in with flat memory on both sides',
    async () => {
      const source = new Source(LARGE);
      await sandbox.sh('echo 5 > /proc/1/clear_refs');
      const before = await agentKib('VmRSS');
      const growth = await peakGrowth(daemon.pid, async () => {
        expectNoContent(await put('/root/large', source.stream()));
      });
      uploaded = source.digest();
      expect(growth).toBeLessThan(FLAT);
      expect((await agentKib('VmHWM')) - before).toBeLessThan(FLAT / 1024);
      expect(await sandbox.sh('stat -c %s /root/large')).toBe(String(LARGE));
      // Its digest is compared when it has come out: an emulated guest takes a minute for it.
    },
    LARGE_MS,
  );

  it(
    'come out with flat memory on both sides',
    async () => {
      await sandbox.sh('echo 5 > /proc/1/clear_refs');
      const before = await agentKib('VmRSS');
      const hash = createHash('sha256');
      let received = 0;
      const growth = await peakGrowth(daemon.pid, async () => {
        const answer = await client.open('GET', filesPath('/root/large'));
        expect(answer.headers.get('content-length')).toBe(String(LARGE));
        for await (const chunk of answer.body as ReadableStream<Uint8Array>) {
          hash.update(chunk);
          received += chunk.length;
        }
      });
      expect(received).toBe(LARGE);
      expect(hash.digest('hex')).toBe(uploaded);
      expect(growth).toBeLessThan(FLAT);
      expect((await agentKib('VmHWM')) - before).toBeLessThan(FLAT / 1024);
    },
    LARGE_MS,
  );

  it('that a client stops reading do not pile up in the daemon', async () => {
    const gone = new AbortController();
    const growth = await peakGrowth(daemon.pid, async () => {
      const answer = await client.open('GET', filesPath('/root/large'), undefined, { signal: gone.signal });
      const reader = answer.body?.getReader();
      await reader?.read();
      // Other calls go on meanwhile, over the same connection to the guest.
      for (let at = 0; at < 20; at++) expect(await sandbox.sh('echo through')).toBe('through');
      gone.abort();
    });
    expect(growth).toBeLessThan(FLAT);
    const isClosed = async () => !(await openFiles()).includes('/root/large');
    await until('the agent closes the file', isClosed, SOON_MS);
  });

  it('that a client stops sending leave the agent with nothing open', async () => {
    const gone = new AbortController();
    const failure = failureOf(put('/root/half', new Source(LARGE).stream(), gone.signal));
    const isOpen = async () => (await openFiles()).includes('/root/half');
    await until('the upload is under way', isOpen, SOON_MS);
    gone.abort(new Error('enough'));
    expect(await failure).toMatchObject({ message: 'enough' });
    await until('the agent closes the file', async () => !(await isOpen()), SOON_MS);
    expect(await sandbox.sh('echo alive')).toBe('alive');
  });
});

/** Bytes made as they are asked for, no block like another, and their digest. */
class Source {
  readonly #hash = createHash('sha256');
  readonly #block = Buffer.alloc(MIB);
  #left: number;

  constructor(length: number) {
    this.#left = length;
    for (let at = 0; at < MIB; at += 4) this.#block.writeUInt32LE(Math.imul(at, 2_654_435_761) >>> 0, at);
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream({
      pull: (controller) => {
        if (this.#left === 0) {
          controller.close();
          return;
        }
        this.#block.writeDoubleLE(this.#left, 0);
        this.#left -= MIB;
        this.#hash.update(this.#block);
        controller.enqueue(new Uint8Array(this.#block));
      },
    });
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}

function put(path: string, content: string | Uint8Array | ReadableStream, signal?: AbortSignal) {
  return client.call('PUT', filesPath(path), content, signal === undefined ? {} : { signal });
}

function filesPath(path: string): string {
  return `${sandbox.path}/files?path=${encodeURIComponent(path)}`;
}

async function agentKib(field: 'VmRSS' | 'VmHWM'): Promise<number> {
  return kibField(await sandbox.sh('cat /proc/1/status'), field);
}

/** The files that the agent has open. */
function openFiles(): Promise<string> {
  return sandbox.sh('for f in /proc/1/fd/*; do readlink $f; done; true');
}
