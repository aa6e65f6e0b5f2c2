import { posix } from 'node:path';
import { UsageError } from '../errors.ts';

/** One end of a copy: a path of a sandbox, a path of this machine, or this program's own stdin or stdout. */
export type Place =
  | { readonly kind: 'sandbox'; readonly sandbox: string; readonly path: string }
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'stream' };

/** What a word of the command line means: `name:path` is in a sandbox; `./name:path` is not. */
export function placeOf(word: string): Place {
  if (word === '-') return { kind: 'stream' };
  const [, sandbox, path] = /^([A-Za-z0-9_-]{1,64}):(.*)$/s.exec(word) ?? [];
  if (sandbox === undefined || path === undefined) return { kind: 'local', path: word };
  if (path === '')
    throw new UsageError(`${word} names no path`, `write ${sandbox}:/root for the home folder`);
  return { kind: 'sandbox', sandbox, path: path.startsWith('/') ? path : `/${path}` };
}

/** What stands at a path. */
export type Standing = 'folder' | 'file' | 'nothing';

/** Where a copy ends up, and whether a folder there is added to. */
export interface Target {
  readonly path: string;
  readonly isMerge: boolean;
}

/**
 * Where something comes to stand, by the rules of cp: inside a folder that is there, under its own name; else at exactly that path.
 * A source that ends in `/.` stands for what the folder holds, which is added to a folder that is there.
 */
export function targetOf(source: string, isFolder: boolean, destination: string, standing: Standing): Target {
  const name = posix.basename(source.replace(/\/+$/, ''));
  const isContent = isFolder && (/(^|\/)\.$/.test(source) || /^\/+$/.test(source) || name === '..');
  if (standing === 'folder') {
    if (isContent) return { path: destination, isMerge: true };
    return { path: posix.join(destination, name), isMerge: false };
  }
  if (isFolder && standing === 'file')
    throw new UsageError(`${destination} is a file: a folder cannot take its place`);
  if (!isFolder && destination.endsWith('/')) return { path: posix.join(destination, name), isMerge: false };
  return { path: destination.replace(/(?<=.)\/+$/, ''), isMerge: false };
}

/** A name beside a path, for what is not whole yet. */
export function besides(path: string, token: string): string {
  return posix.join(posix.dirname(path), `.${posix.basename(path).slice(0, 200)}.atoll-${token}`);
}
