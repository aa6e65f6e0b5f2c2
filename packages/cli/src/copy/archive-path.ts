/** The route of a folder as an archive. */
export function archivePath(sandbox: string, path: string): string {
  return route(sandbox, 'archive', path);
}

/** The route of a file's bytes. */
export function filePath(sandbox: string, path: string): string {
  return route(sandbox, 'files', path);
}

function route(sandbox: string, name: string, path: string): string {
  return `/sandboxes/${encodeURIComponent(sandbox)}/${name}?path=${encodeURIComponent(path)}`;
}
