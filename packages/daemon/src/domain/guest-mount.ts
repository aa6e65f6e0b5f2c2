import { setTimeout as sleep } from 'node:timers/promises';
import { posix } from 'node:path';
import { AtollError } from '../lib/errors.ts';
import type { AgentSession } from '../ports/agent.ts';
import type { Mount } from '../ports/mount.ts';

/** Who opens a bucket. */
export interface Keys {
  readonly accessKey: string;
  readonly secretKey: string;
}

// On a tmpfs: the keys are in the guest's memory, and on none of its disks.
const CONFIG_DIR = '/run/atoll/mounts';
const CACHE_DIR = '/var/cache/atoll-mounts';
const REMOTE = 'atoll';

// What an unfinished step is given to be undone.
const UNDO_MS = 20_000;
const UPLOAD_POLL_MS = 250;

// How late what others write into a bucket may be seen. By itself rclone would list a directory again after five minutes.
const DIRECTORY_CACHE = '5s';

/** One try each: rclone would otherwise ask an endpoint that is not there for minutes. */
const PATIENCE = ['--contimeout', '5s', '--timeout', '15s', '--low-level-retries', '1', '--retries', '1'];

/**
 * Mounts a bucket by rclone: its configuration first, then a look at the bucket, which the mount itself would only take at the
 * first access, then the mount, then a second opinion on it. Undoes what it did when a step fails.
 */
export async function attach(
  agent: AgentSession,
  mount: Mount,
  path: string,
  keys: Keys,
  signal: AbortSignal,
): Promise<void> {
  await using undo = new AsyncDisposableStack();
  const config = configOf(mount);
  await agent.mkdir(path, true, signal);
  await agent.mkdir(CONFIG_DIR, true, signal);
  await agent.chmod(CONFIG_DIR, 0o700, signal);
  undo.defer(() => run(agent, 'rm', ['-f', config], AbortSignal.timeout(UNDO_MS)).then(ignore, ignore));
  await agent.writeFile(config, Buffer.from(describeRemote(mount, keys)), signal, 0o600);

  const source = `${REMOTE}:${mount.bucket}`;
  // A place in the bucket that is not there: what lists it lists nothing, whatever the bucket's size.
  const probe = ['lsf', '--config', config, ...PATIENCE, '--', posix.join(source, `.${mount.id}/`)];
  await runTool(agent, probe, keys, signal);

  undo.defer(() => unmount(agent, path, AbortSignal.timeout(UNDO_MS)).then(ignore, ignore));
  const mode = mount.readOnly
    ? ['--read-only']
    : ['--vfs-cache-mode', 'writes', '--vfs-write-back', '0s', '--cache-dir', cacheOf(mount)];
  const daemon = ['mount', '--config', config, '--daemon', '--daemon-wait', '20s', '--allow-other'];
  const fresh = ['--dir-cache-time', DIRECTORY_CACHE];
  await runTool(agent, [...daemon, ...fresh, ...mode, '--', source, path], keys, signal);

  const { exitCode } = await run(agent, 'mountpoint', ['-q', path], signal);
  if (exitCode !== 0) throw AtollError.of('MOUNT_MISSING', { path });
  undo.move();
}

/** Waits for uploads, unmounts, and removes what `attach` wrote. Throws when the bucket is still mounted then. */
export async function detach(
  agent: AgentSession,
  mount: Mount,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const cache = cacheOf(mount);
  // Exit code 0: some file's description says so.
  const isUploading = async () =>
    (await run(agent, 'grep', ['-rqsF', '"Dirty": true', `${cache}/vfsMeta`], signal)).exitCode === 0;
  while (!mount.readOnly && (await isUploading())) await sleep(UPLOAD_POLL_MS, undefined, { signal });
  const complaint = await unmount(agent, path, signal);
  await run(agent, 'rm', ['-rf', configOf(mount), cache], signal);
  if (complaint !== undefined) throw new Error(complaint);
}

/** What speaks against it; a mount that is in use goes when that ends. */
async function unmount(agent: AgentSession, path: string, signal: AbortSignal): Promise<string | undefined> {
  const gently = await run(agent, 'fusermount3', ['-u', path], signal);
  if (gently.exitCode === 0) return undefined;
  const later = await run(agent, 'fusermount3', ['-u', '-z', path], signal);
  return later.exitCode === 0 ? undefined : later.output.trim();
}

/** Runs rclone; throws MOUNT_FAILED with what it says, in which the keys are made illegible. */
async function runTool(
  agent: AgentSession,
  args: readonly string[],
  keys: Keys,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, output } = await run(agent, 'rclone', args, signal);
  if (exitCode === 0) return;
  const said = output.replaceAll(keys.secretKey, '***').replaceAll(keys.accessKey, '***');
  throw AtollError.of('MOUNT_FAILED', { exitCode, said });
}

/** Runs a program of the guest; what it writes to its standard error comes first. */
async function run(
  agent: AgentSession,
  command: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<{ exitCode: number; output: string }> {
  const texts = { stdout: '', stderr: '' };
  const { exitCode } = await agent.exec(
    { command, args, env: {} },
    (stream, chunk) => (texts[stream] += chunk.toString()),
    signal,
  );
  return { exitCode, output: texts.stderr + texts.stdout };
}

/** The one remote of a configuration file. Nobody makes a bucket by writing to one that is not there. */
function describeRemote({ endpoint }: Mount, { accessKey, secretKey }: Keys): string {
  return [
    `[${REMOTE}]`,
    'type = s3',
    'provider = Other',
    'env_auth = false',
    `access_key_id = ${accessKey}`,
    `secret_access_key = ${secretKey}`,
    `endpoint = ${endpoint}`,
    'no_check_bucket = true',
    '',
  ].join('\n');
}

function configOf({ id }: Mount): string {
  return `${CONFIG_DIR}/${id}.conf`;
}

function cacheOf({ id }: Mount): string {
  return `${CACHE_DIR}/${id}`;
}

function ignore(): void {
  // The step that failed says more.
}
