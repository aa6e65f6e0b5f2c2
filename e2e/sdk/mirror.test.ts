import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const HERE = new URL('.', import.meta.url);
const PYTHON = new URL('../../python/tests/aio/', import.meta.url);

/** What one of the languages has for itself: compilers, runtimes, and this. A test inside a `describe` is its own too. */
const OWN = ['types', 'platforms', 'mirror'];

/** Tests of a folder as `noun: name`, in lower case and plain words. */
async function namesIn(folder: URL, file: RegExp, test: RegExp): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(folder)) {
    const noun = file.exec(entry)?.[1];
    if (noun === undefined || OWN.includes(noun)) continue;
    const text = await readFile(new URL(entry, folder), 'utf8');
    for (const [, name = ''] of text.matchAll(test))
      names.push(`${noun}: ${name.replaceAll('_', ' ').toLowerCase()}`);
  }
  return names.toSorted();
}

it('the tests of both SDKs have the same names', async () => {
  const here = await namesIn(HERE, /^(\w+)\.test\.ts$/, /^it\(\s*'([^']+)'/gm);
  const there = await namesIn(PYTHON, /^test_(\w+)\.py$/, /^(?:async )?def test_(\w+)\(/gm);
  expect(here.length).toBeGreaterThan(50);
  expect(here).toEqual(there);
});
