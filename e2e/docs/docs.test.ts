import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { Outside, OUTSIDE } from '../network/outside.ts';
import { makeAlpineLike } from '../storage/alpine-like.ts';
import { findBusybox } from '../storage/busybox.ts';
import { host } from '../storage/files.ts';
import { S3Server } from '../storage/s3.ts';
import { blocksOf } from './blocks.ts';
import type { Block } from './blocks.ts';
import { lanes } from './lanes.ts';
import { brokenLinks } from './links.ts';
import { pages } from './pages.ts';
import { Workplace } from './workplace.ts';

const TOKEN = 'tok-docs-91b3-secret';

// As pages name it. The tests have a network of their own.
const LISTEN = {
  SERVICE_LISTEN_ADDR: '127.0.0.1:7777',
  SERVICE_VCPU_COUNT: '1',
  SERVICE_MEM_SIZE_MIB: '384',
};

/** The daemons that programs ask for, one after the other. */
const DAEMONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: { SERVICE_AUTH_TOKEN: TOKEN },
  sleepy: { SERVICE_AUTO_SUSPEND_TIMEOUT_SECS: '4' },
};

const ALL_MS = 900_000;

const found = await Promise.all(pages().map(blocksOf));
const blocks = found.flatMap((page) => page.blocks);
const left = found.flatMap((page) => page.left);

const stack = new AsyncDisposableStack();
const outcomes = new Map(blocks.map((block) => [block, Promise.withResolvers<undefined>()]));
const leavings: string[] = [];
let place: Workplace;
let running: Promise<void>;

beforeAll(async () => {
  for (const { page, line, reason } of left) console.log(`${page}:${line} is not run: ${reason}`);
  for (const { promise } of outcomes.values()) promise.catch(() => undefined);
  place = stack.use(await Workplace.make());
  await makeImage(place.dir);
  const outside = stack.use(await Outside.attach(`atoll-test-${process.pid}-out`));
  const s3 = stack.use(await S3Server.start(outside, OUTSIDE[0]));
  await s3.makeBucket('data');
  // The uplink has come after the set-up.
  await host(process.execPath, 'host/network/setup.ts');
  const store = {
    S3_ENDPOINT: s3.endpoint,
    AWS_ACCESS_KEY_ID: s3.accessKey,
    AWS_SECRET_ACCESS_KEY: s3.secretKey,
  };
  running = runAll(store);
  running.catch((error: unknown) => {
    for (const { reject } of outcomes.values()) reject(error);
  });
}, ALL_MS);

afterAll(async () => {
  await running.catch(() => undefined);
  await stack.disposeAsync();
}, ALL_MS);

/** The image that a page registers, at its very path. Nothing of the machine's own /srv is touched: the tests have mounts of their own. */
async function makeImage(dir: string): Promise<void> {
  const work = join(dir, 'image');
  await mkdir(work);
  const image = await makeAlpineLike(work, await findBusybox(work));
  await host('mount', '-t', 'tmpfs', 'atoll-docs', '/srv');
  stack.defer(() => host('umount', '/srv').then(() => undefined));
  await host('cp', '--sparse=always', image, '/srv/alpine.ext4');
}

async function runAll(store: Readonly<Record<string, string>>): Promise<void> {
  const lost = blocks.find(({ daemon }) => !(daemon in DAEMONS));
  if (lost !== undefined) throw new Error(`${lost.page}:${lost.line} asks for a daemon "${lost.daemon}"`);
  for (const [name, settings] of Object.entries(DAEMONS)) {
    const token = settings['SERVICE_AUTH_TOKEN'];
    await place.setCurl(token);
    await using daemon = await Daemon.start({ ...LISTEN, ...settings });
    const env = { ...store, ATOLL_URL: daemon.url, ...(token !== undefined && { ATOLL_TOKEN: token }) };
    const own = blocks.filter((block) => block.daemon === name);
    await lanes(own, async (block) => {
      const outcome = outcomes.get(block);
      await place.run(block, env).then(
        () => outcome?.resolve(undefined),
        (error: unknown) => outcome?.reject(error),
      );
    });
    leavings.push(...(await leftAt(daemon, token)));
  }
}

/** What the programs of all pages left behind at a daemon. */
async function leftAt({ url }: Daemon, token = ''): Promise<string[]> {
  const lists = ['sandboxes', 'snapshots', 'drives', 'images', 'pools'];
  const things = lists.map(async (list) => {
    const answer = await fetch(`${url}/${list}`, { headers: { authorization: `Bearer ${token}` } });
    const items = ((await answer.json()) as Record<string, { id: string; name?: string }[]>)[list] ?? [];
    return items.map(({ id, name }) => `${list} ${name ?? id}`);
  });
  return (await Promise.all(things)).flat();
}

describe('every program of the pages', () => {
  it.each(blocks.map((block) => [`${block.page}:${block.line} (${block.language})`, block] as const))(
    '%s',
    async (_, block: Block) => {
      await outcomes.get(block)?.promise;
    },
    ALL_MS,
  );

  it(
    'cleans up after itself',
    async () => {
      await running;
      expect(leavings).toEqual([]);
    },
    ALL_MS,
  );
});

describe('links', () => {
  it.each(pages())('of %s lead somewhere', async (page) => {
    expect(await brokenLinks(page)).toEqual([]);
  });
});

it(
  'every TypeScript program compiles',
  async () => {
    await running;
    expect(await place.typeFaults()).toBe('');
  },
  ALL_MS,
);
