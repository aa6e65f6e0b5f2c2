import { Sandbox } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { CommandError, EXIT, UsageError } from '../errors.ts';
import type { Interrupted } from '../interrupts.ts';
import { port } from '../values/size.ts';

interface Options {
  readonly to?: { readonly host: string; readonly port: number };
}

const CLOSE_MS = 10_000;

export function tunnelCommand(parent: Command, context: Context): void {
  const command = parent
    .command('tunnel')
    .description("let a port of the sandbox's 127.0.0.1 reach a server on this side, until Ctrl-C")
    .argument('<sandbox>', 'its id or name')
    .argument('<port>', 'the port inside the sandbox', port)
    .option('--to <[host:]port>', 'where its connections go (127.0.0.1, the same port)', target);
  work(command, context, tunnel);
}

function target(text: string): { host: string; port: number } {
  const [, host = '127.0.0.1', at] = /^(?:\[?([^\]]+)\]?:)?(\d+)$/.exec(text) ?? [];
  if (at === undefined)
    throw new UsageError(`${text} is no place`, 'write host:port, or a port of this machine');
  return { host, port: port(at) };
}

async function tunnel(
  { options, out, client, signal }: Call<Options>,
  name: string,
  at: number,
): Promise<void> {
  const sandbox = await Sandbox.get(name, { client, signal });
  const { host, port: to } = options.to ?? { host: '127.0.0.1', port: at };
  const opened = await sandbox.tunnel(at, { host, port: to, signal: undefined });
  const interrupted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  if (out.isJson || out.isQuiet)
    out.made({ tunnel_id: opened.id, guest_port: at, host, port: to }, opened.id);
  else out.note(`127.0.0.1:${at} inside ${name} reaches ${host}:${to} (Ctrl-C ends it)`);
  await Promise.race([opened.closed, interrupted]);
  if (!signal.aborted) throw new CommandError('the tunnel ended by itself', undefined, EXIT.unreachable);
  await opened.close({ timeoutMs: CLOSE_MS });
  throw (signal.reason as Interrupted).with('the tunnel is closed');
}
