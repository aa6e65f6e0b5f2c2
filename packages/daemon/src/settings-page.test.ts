import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { loadConfig } from './config.ts';

const PAGE = new URL('../../../docs/settings.md', import.meta.url);

/** Every SERVICE_ variable that the daemon looks at. */
function namesRead(): string[] {
  const names = new Set<string>();
  const read = (_: object, name: string | symbol) => void names.add(String(name));
  try {
    loadConfig(new Proxy({}, { get: read }));
  } catch {
    // What has no default on this machine is told once everything was read.
  }
  return [...names].filter((name) => name.startsWith('SERVICE_')).toSorted();
}

it('docs/settings.md names every setting, and no other', async () => {
  const rows = (await readFile(PAGE, 'utf8')).split('\n').filter((line) => line.startsWith('| `'));
  const names = rows.flatMap((row) => row.split('|')[1]?.match(/SERVICE_\w+/g) ?? []);
  expect(names.toSorted()).toEqual(namesRead());
});
