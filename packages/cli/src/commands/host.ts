import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { findCheckout } from '../host/checkout.ts';

const SCRIPTS = {
  up: [
    ['host/quickstart.sh'],
    'set this host up, start the daemon, and boot a first sandbox; does only what is missing',
  ],
  down: [['host/stop.sh'], 'end the daemon of this host, and every sandbox with it'],
  doctor: [
    ['host/network.sh', 'doctor'],
    'say of each thing that Atoll needs of this host whether it is there',
  ],
} as const;

/** Adds `up`, `down` and `doctor`, which are the scripts of a checkout's host/. */
export function hostCommands(parent: Command, context: Context): void {
  for (const [name, [script, text]] of Object.entries(SCRIPTS)) {
    const command = parent.command(name).description(text);
    work(command, context, (call: Call<object>) => runScript(call, script));
  }
}

/** Runs a script on this terminal. Ctrl-C reaches it as well, and it is waited for: it clears up by itself. */
async function runScript({ context, out, signal }: Call<object>, script: readonly string[]): Promise<number> {
  const cwd = findCheckout(context.cwd, context.env['ATOLL_HOME']);
  const shown = out.isJson ? 'pipe' : 'inherit';
  const child = spawn('bash', [...script], { cwd, stdio: ['inherit', shown, 'inherit'] });
  child.stdout?.pipe(context.stderr);
  const [code, by] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  signal.throwIfAborted();
  const exitCode = code ?? 128 + constants.signals[by ?? 'SIGKILL'];
  if (out.isJson) out.json({ exit_code: exitCode });
  return exitCode;
}
