import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { z } from 'zod';
import { CommandError } from '../../lib/run.ts';

/** What the network needs of the host's programs, and the Debian package of each. */
export const TOOLS = {
  ip: 'iproute2',
  bridge: 'iproute2',
  tc: 'iproute2',
  nft: 'nftables',
  conntrack: 'conntrack',
  dnsmasq: 'dnsmasq-base',
} as const;
export type Tool = keyof typeof TOOLS;

// nft quotes the line it stumbles over, and a policy is one line.
const MAX_COMPLAINT = 2000;

/** Where a program is; undefined when it is missing. An unprivileged user's PATH may lack the directories these are in. */
export function findTool(tool: Tool): string | undefined {
  const dirs = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return dirs
    .filter((dir) => dir !== '')
    .map((dir) => join(dir, tool))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

export function requireTool(tool: Tool): string {
  const path = findTool(tool);
  if (path === undefined) throw new Error(`${tool} is missing: apt-get install ${TOOLS[tool]}`);
  return path;
}

/** Runs a tool to its end, with text as its standard input, and answers its output. Killed when the signal aborts. */
export async function runTool(
  tool: Tool,
  args: readonly string[],
  signal: AbortSignal,
  input = '',
): Promise<string> {
  signal.throwIfAborted();
  const child = spawn(requireTool(tool), args, { env: { LC_ALL: 'C' }, signal, killSignal: 'SIGKILL' });
  child.stdin.on('error', () => undefined); // It ended before it had read all: its exit code says so.
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve);
    child.once('error', reject);
  });
  try {
    const [code, output, complaint] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    if (code === 0) return output;
    throw new CommandError(tool, complaint.slice(0, MAX_COMPLAINT), undefined);
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof CommandError ? error : new CommandError(tool, '', error);
  }
}

/** Runs a tool of iproute2 that answers in JSON. */
export async function queryTool<T extends z.ZodType>(
  tool: 'ip' | 'bridge' | 'tc',
  args: readonly string[],
  shape: T,
  signal: AbortSignal,
): Promise<z.output<T>> {
  const output = await runTool(tool, ['-json', ...args], signal);
  // Some versions print nothing where others print an empty list.
  return shape.parse(JSON.parse(output.trim() === '' ? '[]' : output));
}

/** Changes the rules: all of these lines, or none of them. */
export async function changeRules(lines: string, signal: AbortSignal): Promise<void> {
  await runTool('nft', ['-f', '-'], signal, `${lines}\n`);
}

/** Makes the kernel forget every connection that came from a network. */
export async function forgetAllConnections(subnet: string, signal: AbortSignal): Promise<void> {
  try {
    await runTool('conntrack', ['-D', '-s', subnet], signal);
  } catch (error) {
    // Its exit code is 1 when there was none.
    if (error instanceof CommandError && / 0 flow entries /.test(error.stderr)) return;
    throw error;
  }
}

/**
 * Makes the kernel forget every connection that came from one of these addresses of a network. What still arrives for them
 * would reach whoever has the address next.
 */
export async function forgetConnections(
  addresses: readonly string[],
  subnet: string,
  signal: AbortSignal,
): Promise<void> {
  // One list tells of many that nothing is there to forget.
  const [, ...others] = addresses;
  const list = others.length === 0 ? undefined : await runTool('conntrack', ['-L', '-s', subnet], signal);
  for (const address of addresses)
    if (list?.includes(` src=${address} `) !== false) await forgetAllConnections(`${address}/32`, signal);
}
