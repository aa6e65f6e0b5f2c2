import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** A short host command that failed; `stderr` is what it said. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly stderr: string;
  constructor(file: string, stderr: string, cause: unknown) {
    const said = stderr.trim();
    super(said === '' ? `${file} failed` : `${file}: ${said}`, { cause });
    this.stderr = said;
  }
}

// Room for what a short tool prints; more is a fault of the call.
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Runs a short command without a shell to its end and answers its standard output. Killed when the signal aborts. It has the daemon's environment unless told. */
export async function run(
  file: string,
  args: readonly string[],
  signal: AbortSignal,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  try {
    const { stdout } = await execute(file, args, {
      signal,
      env,
      maxBuffer: MAX_OUTPUT_BYTES,
      killSignal: 'SIGKILL',
    });
    return stdout;
  } catch (error) {
    signal.throwIfAborted();
    throw new CommandError(file, (error as { stderr?: string }).stderr ?? '', error);
  }
}
