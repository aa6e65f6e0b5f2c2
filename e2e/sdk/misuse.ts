/**
 * Compiled, never run, by types.test.ts: every line below `@ts-expect-error` is a misuse that must not compile, every other one
 * must.
 */
import { ApiError, Atoll, Checkpoint, Drive, history, Image, Pool, Sandbox, Snapshot } from '@atoll/sdk';
import type { ErrorCode, ProcessEvent, SandboxInfo } from '@atoll/sdk';

const client = new Atoll({ url: 'http://127.0.0.1:7777', token: 'x' });
// @ts-expect-error A port is no option: it is part of the url.
new Atoll({ port: 7777 });

await using sandbox = await Sandbox.create(
  { name: 'a', tags: { b: 'c' }, egress: { mode: 'deny_all' } },
  { client },
);
// @ts-expect-error Fields are named as on the wire.
await Sandbox.create({ memSizeMib: 512 });
// @ts-expect-error Sizes are numbers.
await Sandbox.create({ vcpu_count: '2' });
// @ts-expect-error There are two modes.
await Sandbox.create({ egress: { mode: 'open' } });
// @ts-expect-error A drive is named by its id.
await Sandbox.create({ drives: ['id'] });
// @ts-expect-error A sandbox is made, not constructed.
new Sandbox();
// @ts-expect-error A name is what it finds one by.
await Sandbox.getOrCreate({ tags: {} });
const { created }: { created: boolean } = await Sandbox.getOrCreate({ name: 'a' }, { timeoutMs: 1000 });
// @ts-expect-error Only getOrCreate tells.
(await Sandbox.create()).created;
const info: SandboxInfo = await sandbox.info();
// @ts-expect-error An id does not change.
sandbox.id = 'another';
// @ts-expect-error A name may be absent.
const name: string = info.name;
const listed = await Sandbox.list({ tags: { b: 'c' } });
listed[0]?.name?.length;
// @ts-expect-error Values of tags are texts.
await Sandbox.list({ tags: { b: 1 } });

const { stdout, exit_code } = await sandbox.exec('echo', ['a'], {
  env: { A: 'b' },
  timeout_ms: 1000,
  stdin: 'in',
});
stdout.length + exit_code;
// @ts-expect-error Arguments are a list: no shell splits a line.
await sandbox.exec('echo', 'a b');
// @ts-expect-error An exit code is a number.
exit_code.length;
// @ts-expect-error Variables are texts.
await sandbox.exec('env', [], { env: { A: 1 } });

await sandbox.files.write('/a', new Uint8Array(1));
// @ts-expect-error An object is no content.
await sandbox.files.write('/a', { some: 'object' });
// @ts-expect-error Bytes are no text.
const text: string = await sandbox.files.read('/a');
// @ts-expect-error A mode is a number.
await sandbox.files.chmod('/a', '644');

const process = await sandbox.spawn('make', ['-j4']);
for await (const chunk of process.output) chunk.byteLength;
for await (const event of process.events()) {
  const known: ProcessEvent['type'] = event.type;
  known.length;
  // @ts-expect-error Only output has data.
  event.data;
}
// @ts-expect-error A signal has a name.
await process.kill(9);

const terminal = await sandbox.pty({ cols: 80, rows: 24 });
// @ts-expect-error A size has both sides.
await terminal.resize({ cols: 80 });
// @ts-expect-error A tunnel leads to a port.
await sandbox.tunnel(5432, {});
// @ts-expect-error A port is a number.
sandbox.previewUrl('8000');
// @ts-expect-error Keys are needed.
await sandbox.mounts.create({ bucket: 'b', endpoint: 'http://s3', mount_path: '/b' });
// @ts-expect-error keep is a boolean.
await sandbox.stop({ keep: 'false' });

const snapshot = await sandbox.snapshot();
await snapshot.resume({ retain_history: false, fresh_identity: true });
// @ts-expect-error A fork leaves nothing in the history.
await snapshot.fork({ retain_history: false });
// @ts-expect-error How many must be said.
await snapshot.clone({});
for (const clone of await snapshot.clone({ count: 2 })) {
  // @ts-expect-error It may be an error.
  await clone.exec('true');
  if (clone instanceof ApiError) clone.code.length;
  else await clone.exec('true');
}
const [checkpoint] = await Checkpoint.list({ source_sandbox_id: sandbox.id });
await checkpoint?.pin(true);
// @ts-expect-error A pin is set or not.
await checkpoint?.pin('yes');
await Snapshot.get('id');
(await Drive.create({ size_mib: 16 })).attached_to[0]?.holder.length;
// @ts-expect-error A drive has a size.
await Drive.create({});
// @ts-expect-error An image comes from a file.
await Image.register({ id: 'a' });
// @ts-expect-error A pool says how many are to be warm.
await Pool.create({ id: 'a' });
(await history({ limit: 1 }))[0]?.end_reason?.length;

const codes: ErrorCode[] = ['NOT_FOUND', 'ENOENT', 'POOL_EXHAUSTED'];
// @ts-expect-error The set of codes is closed.
codes.push('NO_SUCH_CODE');
const error: unknown = await sandbox.info().catch((each: unknown) => each);
// @ts-expect-error A code is compared with codes alone.
if (error instanceof ApiError && error.code === 'NOTFOUND') error.retryable.valueOf();

export { created, name, text };
