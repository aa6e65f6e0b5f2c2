#!/usr/bin/env node
import { CommanderError } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import type { Context } from './context.ts';
import { EXIT } from './errors.ts';
import { outcomeOf } from './exit-codes.ts';
import { Interrupts } from './interrupts.ts';
import { Output } from './output/output.ts';
import { buildProgram } from './program.ts';

// What a shell shows for a program that wrote to a pipe whose reader has left.
const SIGPIPE_EXIT = 141;

const { stdin, stdout, stderr, env } = process;
for (const stream of [stdout, stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(SIGPIPE_EXIT);
    throw error;
  });

const interrupts = new Interrupts();
using _listening = interrupts.listen();
const context: Context = { stdin, stdout, stderr, env, cwd: process.cwd(), interrupts };
const isJson = process.argv.includes('--json');
const program = buildProgram(context, packageJson.version);
// A mistake is told in one line, as every failure is.
const prepare = (command: typeof program): void => {
  command.exitOverride().configureOutput({ outputError: () => undefined });
  for (const each of command.commands) prepare(each);
};
prepare(program);
try {
  await program.parseAsync();
} catch (error) {
  const outcome = outcomeOf(error);
  // Help that was asked for by saying too little has been shown.
  const isHelp = error instanceof CommanderError && error.code === 'commander.help';
  if (outcome.exitCode !== EXIT.done && !isHelp)
    new Output(stdout, stderr, env, { json: isJson }).failure(outcome);
  process.exitCode = outcome.exitCode;
}
