/**
 * Runs Python that somebody else wrote, an AI model for one, and answers what came of it.
 *
 *     node code-runner.ts < program.py
 *
 * The sandbox is new, has no network, and is destroyed at the end, whatever the program did.
 */
import { text } from 'node:stream/consumers';
import { Sandbox } from '@atoll/sdk';

const FOLDER = '/work';
const LIMIT_MS = 10_000;
const MAX_FILE_BYTES = 1024 * 1024;

/** What a program did. */
interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number;
  readonly timed_out: boolean;
  /** What it left in its folder, by name. */
  readonly files: Record<string, string>;
}

async function runCode(code: string): Promise<Outcome> {
  await using sandbox = await Sandbox.create({ egress: { mode: 'deny_all' } });
  await sandbox.files.mkdir(FOLDER);
  await sandbox.files.write('/tmp/program.py', code);
  const result = await sandbox.exec('python3', ['/tmp/program.py'], { cwd: FOLDER, timeout_ms: LIMIT_MS });
  return {
    stdout: result.stdout,
    stderr: result.stderr,
    exit_code: result.exit_code,
    timed_out: result.timed_out ?? false,
    files: await filesOf(sandbox),
  };
}

async function filesOf(sandbox: Sandbox): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const { name, type, size } of await sandbox.files.list(FOLDER))
    if (type === 'file' && size <= MAX_FILE_BYTES)
      files[name] = await sandbox.files.readText(`${FOLDER}/${name}`);
  return files;
}

console.log(JSON.stringify(await runCode(await text(process.stdin)), undefined, 2));
