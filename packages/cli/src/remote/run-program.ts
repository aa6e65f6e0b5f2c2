import type { ExecOptions, Sandbox } from '@atoll/sdk';
import { buffer } from 'node:stream/consumers';
import type { Call } from '../call.ts';
import { CommandError, EXIT } from '../errors.ts';
import { Interrupted } from '../interrupts.ts';
import { howOf } from '../program-options.ts';
import type { ProgramOptions } from '../program-options.ts';
import { writeAll } from '../output/write-all.ts';

/** What runs in a sandbox, and how. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

// Below what the daemon takes in one body, as base64.
const MAX_INPUT_BYTES = 40 * 1024 * 1024;

// What a program gets to end by itself after the interruption was passed on to it.
const GRACE_MS = 3000;
const CLEANUP_MS = 10_000;

/** Runs a program to its end and answers its exit code. An interruption ends the program too. */
export async function runProgram(
  call: Call<ProgramOptions>,
  sandbox: Sandbox,
  program: Program,
): Promise<number> {
  const { options, out, context } = call;
  const isLive = options.stream ?? (context.stdout.isTTY && !out.isJson);
  return isLive && options.timeout === undefined && !out.isJson
    ? follow(call, sandbox, program)
    : collect(call, sandbox, program);
}

/** Both outputs apart and whole, once the program has ended. */
async function collect(call: Call<ProgramOptions>, sandbox: Sandbox, program: Program): Promise<number> {
  const { options, out, context, signal } = call;
  const { timeout } = options;
  const how: ExecOptions = {
    ...howOf(options),
    ...(timeout === undefined ? {} : { timeout_ms: timeout * 1000 }),
    signal,
  };
  const stdin = options.interactive === true ? await inputOf(call) : undefined;
  const result = await sandbox
    .exec(program.command, program.args, { ...how, stdin })
    .catch((error: unknown) => {
      throw error instanceof Interrupted ? error.with(`the program in ${sandbox.id} was killed`) : error;
    });
  if (out.isJson) out.json(result);
  else {
    await writeAll(context.stdout, decoded(result.stdout, result.stdout_base64));
    await writeAll(context.stderr, decoded(result.stderr, result.stderr_base64));
  }
  if (result.timed_out === true) out.note(`atoll: the program was ended after ${timeout} s`);
  if (result.truncated === true)
    throw new CommandError(
      'the program wrote more than the daemon holds, and the rest was dropped',
      'redirect it to a file inside the sandbox, and use "atoll cp"',
      EXIT.notRun,
    );
  return result.exit_code;
}

async function inputOf({ context }: Call<ProgramOptions>): Promise<Uint8Array> {
  const input = await buffer(context.stdin);
  if (input.length <= MAX_INPUT_BYTES) return input;
  throw new CommandError(
    'more than 40 MiB on stdin',
    'copy it with "atoll cp", or pass --stream',
    EXIT.notRun,
  );
}

function decoded(text: string, base64: string | undefined): string | Uint8Array {
  return base64 === undefined ? text : Buffer.from(base64, 'base64');
}

/** Both outputs in the order in which they are written, as they are written. */
async function follow(call: Call<ProgramOptions>, sandbox: Sandbox, program: Program): Promise<number> {
  const { options, out, context, signal } = call;
  const running = await sandbox.spawn(program.command, program.args, { ...howOf(options), signal });
  const events = running.events();
  const end = () => {
    // As a terminal's Ctrl-C does, and then for good.
    void running.kill('INT', { timeoutMs: CLEANUP_MS }).catch(() => undefined);
    setTimeout(
      () => void running.kill('KILL', { timeoutMs: CLEANUP_MS }).catch(() => undefined),
      GRACE_MS,
    ).unref();
  };
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const fed = options.interactive === true ? feed(context.stdin, running) : Promise.resolve();
  fed.catch(() => undefined);
  try {
    for await (const event of events) {
      if (event.type === 'output') await writeAll(context.stdout, event.data);
      else if (event.type === 'skipped')
        out.note(
          `atoll: ${event.bytes} bytes of output were skipped: they came faster than they could be shown`,
        );
      else {
        if (signal.aborted)
          throw (signal.reason as Interrupted).with(`the program in ${sandbox.id} was ended`);
        return event.exit_code;
      }
    }
  } catch (error) {
    // The daemon is not there to be asked; what it holds of the program ends with it.
    if (!signal.aborted && !(error instanceof Interrupted)) end();
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
    context.stdin.destroy();
  }
  throw new CommandError(
    `the output of ${program.command} ended without an exit code`,
    undefined,
    EXIT.notRun,
  );
}

async function feed(stdin: NodeJS.ReadStream, running: Awaited<ReturnType<Sandbox['spawn']>>): Promise<void> {
  for await (const chunk of stdin) await running.writeStdin(chunk as Uint8Array);
  await running.closeStdin();
}
