/** What of a WebSocket is used here: a part of the standard's, and what Node's own adds for back-pressure. */
export interface SocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  onerror: (() => void) | null;
  send(data: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
  /** Gives out messages, those too that came before: there is someone to take them now. */
  begin?(): void;
  /** Stops reading until `resume`. */
  pause?(): void;
  resume?(): void;
}

/** The standard's WebSocket, or one that does as it does. */
export type WebSocketConstructor = new (
  url: string,
  protocols?: string[],
) => { readonly bufferedAmount: number; close(code?: number, reason?: string): void };

/** Opens a platform's WebSocket. Why one is refused cannot be seen there. */
export async function openPlatformSocket(
  Socket: WebSocketConstructor,
  url: URL,
  protocol: string | undefined,
  signal: AbortSignal,
): Promise<SocketLike> {
  signal.throwIfAborted();
  // Its events carry more than what is used, each platform's in a type of its own.
  const socket = new Socket(url.href, protocol === undefined ? [] : [protocol]) as SocketLike;
  socket.binaryType = 'arraybuffer';
  const early: (() => void)[] = [];
  socket.onmessage = (event) => early.push(() => socket.onmessage?.(event));
  const begin = () => {
    for (const tell of early.splice(0)) tell();
  };
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => socket.close();
    signal.addEventListener('abort', onAbort);
    socket.onerror = null;
    socket.onopen = () => {
      signal.removeEventListener('abort', onAbort);
      socket.onclose = (event) => early.push(() => socket.onclose?.(event));
      resolve();
    };
    socket.onclose = ({ code }) => {
      signal.removeEventListener('abort', onAbort);
      reject(new Error(`the WebSocket was closed before it was open (${code})`));
    };
  });
  return Object.assign(socket, { begin });
}
