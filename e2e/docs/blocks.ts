import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const LANGUAGES = ['bash', 'sh', 'ts', 'python'] as const;
type Language = (typeof LANGUAGES)[number];

/** Fences that hold no program. */
const PROSE = ['text', 'json'];

/** One program of a page. */
export interface Block {
  /** Path of the page below the repository. */
  readonly page: string;
  readonly line: number;
  readonly language: Language;
  readonly code: string;
  /** What the `text` fence behind it shows; undefined where there is none. */
  readonly shown: string | undefined;
  /** Which daemon it takes, by the comment `<!-- daemon: name -->` above it. */
  readonly daemon: string;
}

/** A program that cannot run in a test, and why: the comment `<!-- not run: reason -->` above it. */
export interface Left {
  readonly page: string;
  readonly line: number;
  readonly reason: string;
}

interface Fence {
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** What stands between the fence before and this one. */
  readonly above: string;
}

const COMMENT = /<!-- (not run|daemon): ([^]*?) -->\s*$/;

/** Every program of a page. Throws on a fence that is neither run nor marked. */
export async function blocksOf(page: string): Promise<{ blocks: Block[]; left: Left[] }> {
  const fences = fencesOf(await readFile(join(ROOT, page), 'utf8'));
  const blocks: Block[] = [];
  const left: Left[] = [];
  for (const [at, { line, language, code, above }] of fences.entries()) {
    if (PROSE.includes(language)) continue;
    const [, kind, value = ''] = COMMENT.exec(above) ?? [];
    if (kind === 'not run') {
      left.push({ page, line, reason: value.replaceAll(/\s+/g, ' ') });
      continue;
    }
    if (!isRun(language))
      throw new Error(`${page}:${line}: a fence of "${language}" is neither run nor marked`);
    const next = fences[at + 1];
    const shown = next?.language === 'text' && next.above.trim() === '' ? next.code : undefined;
    blocks.push({ page, line, language, code, shown, daemon: kind === 'daemon' ? value : 'plain' });
  }
  return { blocks, left };
}

function isRun(language: string): language is Language {
  return (LANGUAGES as readonly string[]).includes(language);
}

function fencesOf(text: string): Fence[] {
  const fences: Fence[] = [];
  let [above, line]: [string[], number] = [[], 0];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const each of text.split('\n')) {
    line += 1;
    if (open !== undefined && each === '```') {
      fences.push({ ...open, code: `${open.lines.join('\n')}\n`, above: above.join('\n') });
      [open, above] = [undefined, []];
    } else if (open !== undefined) open.lines.push(each);
    else if (each.startsWith('```')) open = { language: each.slice(3).trim(), line, lines: [] };
    else above.push(each);
  }
  if (open !== undefined) throw new Error(`the fence of line ${open.line} has no end`);
  return fences;
}

/**
 * Whether a program printed what its page shows. `…` stands for anything, and line breaks are not counted: what curl prints has none
 * at its end.
 */
export function isShown(shown: string, printed: string): boolean {
  const parts = shown.replaceAll('\n', '').split('…');
  const pattern = parts.map((part) => RegExp.escape(part)).join('.*?');
  return new RegExp(`^${pattern}$`, 's').test(printed.replaceAll(/\r?\n/g, ''));
}
