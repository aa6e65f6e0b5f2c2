/**
 * Begins and ends sandboxes in a history for ever, and says of each what it did, once it is done: `began ID`, `ended ID`. It is
 * there to be killed. Argument: the history's file.
 */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { pino } from 'pino';
import { SqliteHistory } from '../adapters/history-sqlite/history.ts';

// Its output is a file: what was written there before the kill is there after it.
const say = (line: string) => writeSync(1, `${line}\n`);

const history = SqliteHistory.open(process.argv[2] ?? '', pino({ level: 'silent' }));
say(`orphaned ${history.orphanLive(1)}`);
const live: string[] = [];
for (;;) {
  if (live.length < 5 || Math.random() < 0.5) {
    const id = randomUUID();
    history.began({ id, name: undefined, tags: {}, imageId: undefined, createdAtUnix: 0 });
    live.push(id);
    say(`began ${id}`);
  } else {
    const [id = ''] = live.splice(Math.floor(Math.random() * live.length), 1);
    history.ended(id, { reason: 'destroyed', atUnix: 0 });
    say(`ended ${id}`);
  }
  await new Promise((resolve) => setImmediate(resolve));
}
