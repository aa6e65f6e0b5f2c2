import { Command } from 'commander';
import { shared } from './call.ts';
import { checkpointCommand } from './commands/checkpoint.ts';
import { completionCommands } from './commands/completion.ts';
import { cpCommand } from './commands/cp.ts';
import { createCommand } from './commands/create.ts';
import { driveCommand } from './commands/drive.ts';
import { execCommand } from './commands/exec.ts';
import { historyCommand } from './commands/history.ts';
import { hostCommands } from './commands/host.ts';
import { imageCommand } from './commands/image.ts';
import { killCommand, logsCommand } from './commands/logs.ts';
import { lsCommand } from './commands/ls.ts';
import { mountCommand } from './commands/mount.ts';
import { poolCommand } from './commands/pool.ts';
import { previewCommand } from './commands/preview.ts';
import { cloneCommand, forkCommand, restoreCommand, resumeCommand } from './commands/restore.ts';
import { rmCommand, stopCommand } from './commands/rm.ts';
import { runCommand } from './commands/run.ts';
import { shellCommand } from './commands/shell.ts';
import { snapshotCommand } from './commands/snapshot.ts';
import { statusCommand } from './commands/status.ts';
import { tunnelCommand } from './commands/tunnel.ts';
import type { Context } from './context.ts';

type Part = (program: Command, context: Context) => void;

// In the order of the help.
const GROUPS: readonly (readonly [string, readonly Part[]])[] = [
  ['This host:', [hostCommands, statusCommand]],
  ['Sandboxes:', [runCommand, createCommand, lsCommand, stopCommand, rmCommand]],
  [
    'Inside a sandbox:',
    [execCommand, shellCommand, cpCommand, logsCommand, killCommand, previewCommand, tunnelCommand],
  ],
  [
    'What is kept:',
    [
      snapshotCommand,
      resumeCommand,
      forkCommand,
      cloneCommand,
      historyCommand,
      checkpointCommand,
      restoreCommand,
    ],
  ],
  ['What sandboxes are made of:', [driveCommand, imageCommand, poolCommand, mountCommand]],
  ['This command:', [completionCommands]],
];

/** The whole tree of commands. */
export function buildProgram(context: Context, version: string): Command {
  const program = new Command('atoll')
    .description('Isolated microVM sandboxes, on your own machine.')
    .version(version, '-V, --version', 'the version of this command')
    .enablePositionalOptions()
    .helpCommand('help [command]', 'the help of a command')
    .configureHelp({ showGlobalOptions: false })
    .showSuggestionAfterError()
    .exitOverride();
  shared(program);
  for (const [title, parts] of GROUPS) {
    program.commandsGroup(title);
    for (const part of parts) part(program, context);
  }
  return program;
}
