import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { z } from 'zod';
import { assertPiped } from '../../lib/pipes.ts';
import { CommandError } from '../../lib/run.ts';

/** What the network needs of the host's programs, and the Debian package of each. */
export const TOOLS = {
  ip: 'iproute2',
  bridge: 'iproute2',
  tc: 'iproute2',
  nft: 'nftables',
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
  assertPiped(tool, child);
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

/** Has a tool of iproute2 run commands, one a line, in one go. It stops at the first that fails, unless an option says otherwise. */
export async function runBatch(
  tool: 'ip' | 'bridge' | 'tc',
  lines: readonly string[],
  signal: AbortSignal,
  options: readonly string[] = [],
): Promise<void> {
  await runTool(tool, [...options, '-batch', '-'], signal, lines.map((line) => `${line}\n`).join(''));
}

// What tc, ip and bridge say of a queue, a device or an entry that is not there.
const MISSING = /Cannot find|Invalid handle|handle of zero|No such file|does not exist|^Command failed/;

/** For batches that go on past what fails: throws what failed, unless all of it is that something was not there. */
export function ignoreMissing(error: unknown): void {
  const { stderr = '' } = error as { stderr?: string };
  const others = stderr.split('\n').filter((line) => line.trim() !== '' && !MISSING.test(line));
  if (stderr === '' || others.length > 0) throw error;
}

/** Changes the rules: all of these lines, or none of them. */
export async function changeRules(lines: string, signal: AbortSignal): Promise<void> {
  await runTool('nft', ['-f', '-'], signal, `${lines}\n`);
}
