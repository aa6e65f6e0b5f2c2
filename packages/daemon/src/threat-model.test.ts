import { readFile, stat } from 'node:fs/promises';
import { expect, it } from 'vitest';

const ROOT = new URL('../../../', import.meta.url);

/** The rows of the tables of SECURITY.md, without their heads. */
async function rows(): Promise<string[][]> {
  const lines = (await readFile(new URL('SECURITY.md', ROOT), 'utf8')).split('\n');
  const tables = lines.filter((line) => line.startsWith('|') && !/^\| (Tries to|-+) /.test(line));
  return tables.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

it('every line of the threat model names the tests that show it, and they are there', async () => {
  const found = await rows();
  expect(found.length).toBeGreaterThan(10);
  for (const [what = '', outcome = '', shown = '', ...more] of found) {
    const tests = shown.match(/`[^`]+`/g)?.map((name) => name.slice(1, -1)) ?? [];
    expect({ outcome, more }, what).toEqual({ outcome: expect.stringMatching(/\S/) as string, more: [] });
    expect(tests.length, `${what}: no test`).toBeGreaterThan(0);
    for (const test of tests) {
      expect(test, what).toMatch(/\.(test|contract|nested)\.ts$|_test\.go$|^e2e\/.*\.sh$/);
      expect((await stat(new URL(test, ROOT))).isFile(), test).toBe(true);
    }
  }
});
