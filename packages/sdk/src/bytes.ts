const PIECE = 0x8000;

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  // In pieces: each byte is an argument of the call.
  for (let at = 0; at < bytes.length; at += PIECE)
    binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(binary);
}

/** Text as UTF-8, and bytes as they are. */
export function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? new TextEncoder().encode(data) : data;
}

/** Pieces of UTF-8 as one text. */
export async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of pieces) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}
