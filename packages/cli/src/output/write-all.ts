import { once } from 'node:events';

/** Writes, and waits while the reader is slower. */
export async function writeAll(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
  if (data.length === 0 || stream.write(data)) return;
  await Promise.race([once(stream, 'drain'), once(stream, 'close')]);
}
