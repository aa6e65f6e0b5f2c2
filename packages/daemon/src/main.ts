#!/usr/bin/env node
import { ConfigError, loadConfig } from './config.ts';
import { startDaemon } from './compose.ts';
import { reasonOf } from './lib/errors.ts';
import { dropRoot } from './privileges.ts';

const EXIT_FAILED = 1;
const EXIT_MISCONFIGURED = 2;

// Ending 64 machines takes well under a second; what takes longer hangs.
const SHUTDOWN_MS = 20_000;

async function main(): Promise<void> {
  const { config, unknown } = loadConfig(process.env);
  await dropRoot(config);
  const { log, stop } = await startDaemon(config, unknown);
  let stopping = false;
  const end = (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => {
      log.error({ after_ms: SHUTDOWN_MS }, 'the shutdown hangs: leaving the rest to the next start');
      process.exit(EXIT_FAILED);
    }, SHUTDOWN_MS).unref();
    stop.disposeAsync().then(
      () => log.info('stopped'),
      (error: unknown) => {
        log.error({ reason: reasonOf(error) }, 'the shutdown left something behind');
        process.exitCode = EXIT_FAILED;
      },
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
}

main().catch((error: unknown) => {
  const faults = error instanceof ConfigError ? error.faults : [reasonOf(error)];
  for (const fault of faults) process.stderr.write(`atolld: ${fault}\n`);
  process.exitCode = error instanceof ConfigError ? EXIT_MISCONFIGURED : EXIT_FAILED;
});
