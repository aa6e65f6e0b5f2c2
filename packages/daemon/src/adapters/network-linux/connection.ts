import { once } from 'node:events';
import { Socket } from 'node:net';

/**
 * Connects to an address. Rejects with the system's error, or with the signal's reason when that aborts first. The connection is reset when
 * it is destroyed before both of its sides have ended, and its sides end each on its own.
 */
export async function connectTo(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const connection = new ResettingSocket({ allowHalfOpen: true });
  const abort = () => connection.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort);
  try {
    await once(connection.setNoDelay().connect(port, address), 'connect');
  } finally {
    signal.removeEventListener('abort', abort);
  }
  // Whoever uses the connection sees it close.
  return connection.on('error', () => undefined);
}

/** Destroying a socket ends it in order, which the other side would take for the end of the bytes. */
class ResettingSocket extends Socket {
  #cause: Error | undefined;
  #isReset = false;

  override destroy(error?: Error): this {
    this.#cause ??= error;
    if (this.#isReset || this.destroyed || !this.#isResettable()) return super.destroy(this.#cause);
    this.#isReset = true;
    // It comes back here.
    return this.resetAndDestroy();
  }

  #isResettable(): boolean {
    if (this.connecting || this.pending) return false;
    // The kernel's handle refuses a reset, and would stay open, while its end is under way.
    const isEnding = this.writableEnded && !this.writableFinished;
    const isWhole = this.readableEnded && this.writableFinished;
    return !isEnding && !isWhole;
  }
}
