/** A path below a sandbox's preview of a port. `''` is the preview itself, without the slash of its root. */
export function previewPath(sandbox: string, port: number, path: string): string {
  const below = path === '' || path.startsWith('/') ? path : `/${path}`;
  return `/sandboxes/${encodeURIComponent(sandbox)}/preview/${port}${below}`;
}
