import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Takes a bridge for this process: two daemons would each undo the other's rules. An abstract unix socket belongs to the
 * network namespace (unix(7)), as the bridge does, and the kernel lets go of it when the process dies. Rejects when another
 * process has it.
 */
export async function claimBridge(bridge: string): Promise<AsyncDisposable> {
  const server = createServer((socket) => socket.destroy());
  server.listen(`\0atoll-network-${bridge}`);
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new Error(
      `another daemon uses the bridge ${bridge}: stop it, or choose another with SERVICE_BRIDGE_NAME`,
      { cause: error },
    );
  }
  return { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())) };
}
