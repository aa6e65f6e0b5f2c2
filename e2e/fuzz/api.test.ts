import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../harness/client.ts';
import { Daemon } from '../harness/daemon.ts';
import { host } from '../storage/files.ts';
import { prepare, tidy } from './known.ts';
import type { Known } from './known.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const TOKEN = 'fuzz-token';

// Every run makes the same calls, unless it is told otherwise.
const SEED = process.env.ATOLL_FUZZ_SEED ?? '20250101';
const EXAMPLES = process.env.ATOLL_FUZZ_EXAMPLES ?? '4';
/** A pattern of paths, to look at those alone; then nobody asks what was reached. */
const PATHS = process.env.ATOLL_FUZZ_PATHS;
const RUN_MS = 60 * 60_000;

// Handshakes are not plain requests: what schemathesis sends there is 426, and e2e/pty, e2e/tunnel and e2e/exec-stream have the rest.
const WEB_SOCKETS = '/(pty|logs|ws)$';

const CHECKS =
  'documented_server_errors,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance';

/** Operations that have to succeed at least once: what lies behind the look-up of an id is fuzzed too. */
const REACHED = [
  ...[
    'GET /healthz',
    'GET /metrics',
    'GET /sandboxes',
    'POST /sandboxes',
    'GET /sandboxes/{id}',
    'DELETE /sandboxes/{id}',
  ],
  ...[
    'GET /sandboxes/by-name/{name}',
    'POST /sandboxes/get-or-create',
    'GET /sandboxes/history',
    'POST /sandboxes/{id}/exec',
  ],
  ...[
    'POST /sandboxes/{id}/exec-stream',
    'GET /sandboxes/{id}/exec-stream',
    'GET /sandboxes/{id}/files',
    'PUT /sandboxes/{id}/files',
  ],
  ...[
    'GET /sandboxes/{id}/archive',
    'POST /sandboxes/{id}/mkdir',
    'POST /sandboxes/{id}/write-file',
    'GET /sandboxes/{id}/preview/{port}',
  ],
  ...[
    'POST /sandboxes/{id}/snapshot',
    'GET /snapshots',
    'POST /snapshots/{id}/fork',
    'POST /snapshots/{id}/clone',
    'DELETE /snapshots/{id}',
  ],
  ...[
    'GET /snapshots/history',
    'POST /snapshots/history/{id}/restore',
    'PATCH /snapshots/history/{id}',
    'POST /snapshots/history/prune',
  ],
  ...[
    'GET /drives',
    'POST /drives',
    'DELETE /drives/{id}',
    'GET /images',
    'POST /images',
    'DELETE /images/{id}',
  ],
  ...['GET /pools', 'POST /pools', 'DELETE /pools/{id}', 'GET /sandboxes/{id}/mounts'],
];

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;
let known: Known;

beforeAll(async () => {
  daemon = stack.use(
    await Daemon.start({
      SERVICE_AUTH_TOKEN: TOKEN,
      // What it boots is small.
      ...{ SERVICE_MAX_MEM_SIZE_MIB: '192', SERVICE_MEM_SIZE_MIB: '128' },
      ...{ SERVICE_MAX_VCPU_COUNT: '1', SERVICE_VCPU_COUNT: '1' },
      SERVICE_MAX_BODY_BYTES: String(1024 * 1024),
      SERVICE_PREVIEW_TIMEOUT_SECS: '5',
    }),
  );
  client = new Client(daemon.url, TOKEN);
  known = await prepare(client, TOKEN, stack);
}, 300_000);

afterAll(async () => {
  await tidy(client);
  await stack.disposeAsync();
}, 120_000);

it('answers everything as its document says', { timeout: RUN_MS }, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'atoll-fuzz-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const tally = join(dir, 'tally.json');
  const { code, said } = await schemathesis(dir, tally);
  daemon.assertRunning();
  expect(code, said).toBe(0);

  const answers = JSON.parse(await readFile(tally, 'utf8')) as Record<string, number>;
  const succeeded = new Set(Object.keys(answers).flatMap((key) => /^(.*) 2\d\d$/.exec(key)?.slice(1) ?? []));
  const calls = Object.values(answers).reduce((sum, count) => sum + count, 0);
  console.log(
    [
      `${calls} calls, ATOLL_FUZZ_SEED=${SEED} ATOLL_FUZZ_EXAMPLES=${EXAMPLES}; left out, since they are handshakes: ${WEB_SOCKETS}`,
      `succeeded: ${[...succeeded].toSorted().join(', ')}`,
    ].join('\n'),
  );
  const missed = REACHED.filter((operation) => !succeeded.has(operation));
  const instead = Object.keys(answers).filter((key) =>
    missed.some((operation) => key.startsWith(`${operation} `)),
  );
  expect({ missed: PATHS === undefined ? missed : [], instead }).toEqual({ missed: [], instead });
});

async function schemathesis(dir: string, tally: string): Promise<{ code: number | null; said: string }> {
  const python = (await host('bash', join(HERE, 'schemathesis.sh'))).trim();
  const args = [
    ...['-m', 'schemathesis.cli', 'run', join(HERE, '../../spec/openapi.json')],
    ...['--url', daemon.url, '--header', `Authorization: Bearer ${TOKEN}`],
    ...['--seed', SEED, '--max-examples', EXAMPLES, '--phases', 'coverage,fuzzing', '--workers', '1'],
    ...['--checks', CHECKS, '--exclude-path-regex', WEB_SOCKETS],
    ...(PATHS === undefined ? [] : ['--include-path-regex', PATHS]),
    ...['--continue-on-failure', '--request-timeout', '60'],
  ];
  const run = spawn(python, args, {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: dir,
      PYTHONPATH: HERE,
      PYTHONDONTWRITEBYTECODE: '1',
      SCHEMATHESIS_HOOKS: 'hooks',
      ATOLL_FUZZ_KNOWN: JSON.stringify(known),
      ATOLL_FUZZ_TALLY: tally,
      NO_COLOR: '1',
    },
  });
  const ended = once(run, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(run.stdout), text(run.stderr), ended]);
  return { code, said: stdout + stderr };
}
