#!/usr/bin/env node
import { ConfigError, loadConfig } from './config.ts';
import { reasonOf, StartFaults } from './lib/errors.ts';
import { dropRoot } from './privileges.ts';
import { serve } from './serve.ts';

const EXIT_FAILED = 1;
const EXIT_MISCONFIGURED = 2;

async function main(): Promise<void> {
  const { config, unknown } = loadConfig(process.env);
  await dropRoot(config);
  const outcome = await serve(async (ending) => {
    // Most of the program, which root need not load: it becomes this program again.
    const { startDaemon } = await import('./compose.ts');
    return startDaemon(config, unknown, ending);
  });
  if (outcome === 'hangs') process.exit(EXIT_FAILED);
  if (outcome === 'left something') process.exitCode = EXIT_FAILED;
}

main().catch((error: unknown) => {
  const faults = error instanceof StartFaults ? error.faults : [reasonOf(error)];
  for (const fault of faults) process.stderr.write(`atolld: ${fault}\n`);
  process.exitCode = error instanceof ConfigError ? EXIT_MISCONFIGURED : EXIT_FAILED;
});
