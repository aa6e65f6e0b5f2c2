import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Every page with programs in it: what users read. ATOLL_PAGES, a regular expression, narrows them for who works on some. */
export function pages(): string[] {
  const wanted = new RegExp(process.env['ATOLL_PAGES'] ?? '');
  const inDocs = readdirSync(`${ROOT}/docs`, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.md') && !name.startsWith('adr/'),
  );
  return [
    'README.md',
    ...inDocs.toSorted().map((name) => `docs/${name}`),
    'packages/sdk/README.md',
    'packages/cli/README.md',
    'python/README.md',
    'examples/README.md',
  ].filter((page) => wanted.test(page));
}
