import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract, pack } from 'tar-stream';
import { GuestError } from '../ports/agent.ts';
import type { FileStream } from '../ports/agent.ts';

/** What the fake agent has under a path. */
export interface Node {
  readonly type: 'file' | 'dir' | 'symlink';
  content: Buffer;
  mode: number;
}

const TYPES = { file: 'file', dir: 'directory', symlink: 'symlink' } as const;

/** A tar archive of nodes by their names in it. */
export function packed(nodes: readonly (readonly [string, Node])[]): FileStream {
  const archive = pack();
  for (const [name, { type, content, mode }] of nodes) {
    const header = { name, mode, type: TYPES[type] };
    if (type === 'file') archive.entry(header, content);
    else archive.entry(type === 'symlink' ? { ...header, linkname: content.toString() } : header);
  }
  archive.finalize();
  return { size: undefined, body: Readable.from(archive, { objectMode: false }) };
}

/** The nodes of a tar archive by their names in it. Throws a GuestError for what is none. */
export async function unpacked(archive: Readable): Promise<readonly (readonly [string, Node])[]> {
  const nodes: [string, Node][] = [];
  const entries = extract();
  try {
    for await (const entry of Readable.from([await buffer(archive)]).pipe(entries)) {
      const { name, mode, type, linkname } = entry.header;
      if (posix.normalize(name).startsWith('..'))
        throw new GuestError('EINVAL', `the entry ${name} leads out of the directory`);
      const isLink = type === 'symlink';
      const content = isLink ? Buffer.from(linkname) : await buffer(entry);
      if (isLink) entry.resume();
      nodes.push([name, { type: isLink ? 'symlink' : type === 'directory' ? 'dir' : 'file', content, mode }]);
    }
  } catch (error) {
    if (error instanceof GuestError) throw error;
    throw new GuestError('EINVAL', 'the body is no tar archive, or a damaged one');
  }
  return nodes;
}
