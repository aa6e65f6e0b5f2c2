import type { Sandbox, Terminal } from '@atoll/sdk';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { Interrupted } from '../interrupts.ts';
import { writeAll } from '../output/write-all.ts';
import type { Program } from './run-program.ts';

// End of file, as a terminal spells it.
const CTRL_D = '\u0004';

// What a program may have left of a terminal when its connection is lost: the other screen, no cursor, mouse and paste modes.
const TERMINAL_AS_FOUND =
  '\u001b[?1049l\u001b[?25h\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[0m\r\n';

/** A shell in the sandbox, on this terminal, until it ends. Answers its exit code. With a program, the shell becomes that. */
export async function runShell(call: Call<object>, sandbox: Sandbox, program?: Program): Promise<number> {
  const { context, signal } = call;
  const { stdin, stdout } = context;
  const size = stdout.isTTY ? { cols: stdout.columns, rows: stdout.rows } : {};
  await using terminal = await sandbox.pty({ ...size, signal });
  using _resizes = followSize(context, terminal);
  using _raw = rawMode(context);
  if (program !== undefined)
    await terminal.write(`exec ${[program.command, ...program.args].map(quoted).join(' ')}\r`);
  void type(stdin, terminal).catch(() => undefined);
  try {
    for await (const shown of terminal.output) await writeAll(stdout, shown);
    return await terminal.wait();
  } catch (error) {
    if (stdout.isTTY) stdout.write(TERMINAL_AS_FOUND);
    throw error instanceof Interrupted ? error.with('the shell was hung up') : error;
  } finally {
    stdin.destroy();
  }
}

/** Every key reaches the shell, Ctrl-C too. Undone in any case, also when the program ends by itself. */
function rawMode({ stdin }: Context): Disposable {
  if (!stdin.isTTY) return { [Symbol.dispose]: () => undefined };
  const restore = () => void stdin.setRawMode(false);
  stdin.setRawMode(true);
  process.once('exit', restore);
  return {
    [Symbol.dispose]: () => {
      process.off('exit', restore);
      restore();
    },
  };
}

function followSize({ stdout }: Context, terminal: Terminal): Disposable {
  const onResize = () =>
    void terminal.resize({ cols: stdout.columns, rows: stdout.rows }).catch(() => undefined);
  stdout.on('resize', onResize);
  return { [Symbol.dispose]: () => void stdout.off('resize', onResize) };
}

async function type(stdin: NodeJS.ReadStream, terminal: Terminal): Promise<void> {
  for await (const keys of stdin) await terminal.write(keys as Uint8Array);
  await terminal.write(CTRL_D);
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
