import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer } from './guests/server.ts';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectNoContent } from './harness/failure.ts';
import { peakGrowth } from './harness/host.ts';
import { transferSize } from './harness/large.ts';
import { createSandbox } from './harness/sandbox.ts';

const MIB = 1024 * 1024;
const LARGE_MIB = transferSize({ full: 1024, usual: 384 });
const FLAT = 120 * MIB;
const LARGE_MS = 300_000;
// Less than all of it takes.
const TIMEOUT_SECS = transferSize({ full: 10, usual: 4 });
const PORT = 8001;

const stack = new AsyncDisposableStack();
const block = randomBytes(MIB);
let daemon: Daemon;
let client: Client;
let preview: string;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_PREVIEW_TIMEOUT_SECS: String(TIMEOUT_SECS) }));
  ({ client } = daemon);
  const sandbox = await createSandbox(client);
  expectNoContent(await client.call('PUT', `${sandbox.path}/files?path=/tmp/block`, new Uint8Array(block)));
  await startServer(client, sandbox, PORT);
  preview = `${sandbox.path}/preview/${PORT}`;
});

afterAll(() => stack.disposeAsync());

describe(`${LARGE_MIB} MiB through a preview`, () => {
  it('comes down whole, with flat memory', { timeout: LARGE_MS }, async () => {
    const hash = createHash('md5');
    const growth = await peakGrowth(daemon.pid, async () => {
      const answer = await client.open('GET', `${preview}/down?mib=${LARGE_MIB}`);
      for await (const chunk of answer.body ?? []) hash.update(chunk as Uint8Array);
    });
    expect(hash.digest('hex')).toBe(expectedDigest());
    expect(growth).toBeLessThan(FLAT);
  });

  it(
    'goes up whole, with flat memory, in more time than a server may take to answer',
    { timeout: LARGE_MS },
    async () => {
      let seen: unknown;
      const growth = await peakGrowth(daemon.pid, async () => {
        const body = new ReadableStream({ start: (into) => feed(into), pull: feed }, { highWaterMark: 1 });
        const answer = await client.call('PUT', `${preview}/up`, body);
        seen = answer.json;
      });
      expect(seen).toMatchObject({ size: LARGE_MIB * MIB, md5: expectedDigest() });
      expect(growth).toBeLessThan(FLAT);
    },
  );

  let fed = 0;
  function feed(into: ReadableStreamDefaultController): void {
    if (fed === LARGE_MIB) into.close();
    else into.enqueue(numberedBlock(fed++));
  }
});

function numberedBlock(number: number): Uint8Array {
  const bytes = Buffer.from(block);
  bytes.writeBigUInt64BE(BigInt(number));
  return new Uint8Array(bytes);
}

function expectedDigest(): string {
  const hash = createHash('md5');
  for (let number = 0; number < LARGE_MIB; number++) hash.update(numberedBlock(number));
  return hash.digest('hex');
}
