import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { runTool } from '../../packages/daemon/src/adapters/network-linux/tools.ts';
import type { Command } from './finding.ts';
import { SIGNAL } from './settings.ts';

const execute = promisify(execFile);

/**
 * Runs commands, those of one tool together: a pool of taps is some hundred lines of `ip`, which take as many milliseconds in
 * one go. So no command may wait for one of another tool that comes later in the list.
 */
export async function runCommands(commands: readonly Command[]): Promise<void> {
  for (const [tool, group] of Map.groupBy(commands, ([tool = '']) => tool)) await runGroup(tool, group);
}

async function runGroup(tool: string, commands: readonly Command[]): Promise<void> {
  if (tool === 'ip' || tool === 'bridge') {
    await runTool(
      tool,
      ['-batch', '-'],
      SIGNAL,
      commands.map(([, ...args]) => `${args.join(' ')}\n`).join(''),
    );
    return;
  }
  for (const [, ...args] of commands) await execute(tool, args, { signal: SIGNAL });
}
