import type { Client } from '../harness/client.ts';

/** One item of `GET /drives`. */
export interface Drive {
  readonly id: string;
  readonly size_mib: number;
  readonly attached_to: readonly { readonly holder: string; readonly read_only: boolean }[];
}

export async function createDrive(client: Client, size_mib: number): Promise<Drive> {
  const { status, text, json } = await client.call('POST', '/drives', { size_mib });
  if (status !== 200) throw new Error(`create drive: ${status} ${text}`);
  return json as Drive;
}

export async function listDrives(client: Client): Promise<readonly Drive[]> {
  const { json } = await client.call('GET', '/drives');
  return (json as { drives: Drive[] }).drives;
}

/** Where a guest finds a drive. */
export function mountOf({ id }: Drive): string {
  return `/mnt/drives/${id}`;
}

/** A guest's name for a drive as a device. */
export function deviceOf({ id }: Drive): string {
  return `/dev/disk/by-label/drive-${id.slice(0, 8)}`;
}
