import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandError } from '../errors.ts';

// What tells a checkout from any other folder.
const MARKS = ['host/quickstart.sh', 'packages/daemon/src/main.ts'];

/**
 * The folder of Atoll's own source, whose host/ has the scripts: the one that ATOLL_HOME names, or one around the current folder or
 * around this program. Throws when there is none.
 */
export function findCheckout(cwd: string, home: string | undefined): string {
  if (home !== undefined && home !== '') {
    if (isCheckout(home)) return home;
    throw new CommandError(`ATOLL_HOME is ${home}, which is no checkout of Atoll: it has no ${MARKS[0]}`);
  }
  const own = dirname(realpathSync(fileURLToPath(import.meta.url)));
  for (const start of [cwd, own])
    for (let at = start; ; at = dirname(at)) {
      if (isCheckout(at)) return at;
      if (at === dirname(at)) break;
    }
  throw new CommandError(
    'this takes a checkout of Atoll, whose scripts set the host up',
    'run it inside one, or set ATOLL_HOME to its folder',
  );
}

function isCheckout(path: string): boolean {
  return MARKS.every((mark) => existsSync(join(path, mark)));
}
