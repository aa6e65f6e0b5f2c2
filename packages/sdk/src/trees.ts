/** Trees of files as tar archives, for programs of Node, Bun and Deno that copy in a way of their own: `@atoll/sdk/trees`. */
export { FolderTarget } from './local/folder-target.ts';
export { measureTree, packTree } from './local/pack.ts';
export type { EntryHeader, TreeEntry, TreeOptions } from './local/tree.ts';
export { readTar } from './local/unpack.ts';
