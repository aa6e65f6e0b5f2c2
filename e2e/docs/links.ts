import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The links of a page that lead to no file, or to no heading of a page. What is elsewhere is not asked. */
export async function brokenLinks(page: string): Promise<string[]> {
  const links = [...(await textOf(page)).matchAll(/\]\(([^)\s]*)\)/g)].map(([, target = '']) => target);
  const broken: string[] = [];
  for (const link of links.filter((each) => !each.includes('://'))) {
    const [path = '', heading] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    const text = await textOf(target).catch(() => undefined);
    if (text === undefined || (heading !== undefined && !headingsOf(text).includes(heading)))
      broken.push(link);
  }
  return broken;
}

function textOf(page: string): Promise<string> {
  return readFile(join(ROOT, page), 'utf8');
}

/** The names that the headings of a page have in links. */
function headingsOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .trim()
      .replaceAll(/\s/g, '-'),
  );
}
