import { connect } from 'node:net';

const SILENT_MS = 10_000;

/** Sends bytes that no HTTP client would to a daemon, and reads what comes back until it closes the connection. */
export async function sendRaw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setTimeout(SILENT_MS, () => socket.destroy(new Error('the daemon neither answered nor closed')));
  socket.write(bytes, 'latin1');
  let answer = '';
  socket.setEncoding('latin1');
  for await (const chunk of socket) answer += chunk as string;
  return answer;
}

/** Sends one request head, exactly so, and asks for the connection to be closed. */
export function sendRequest(
  url: string,
  method: string,
  target: string,
  ...headers: string[]
): Promise<string> {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers];
  return sendRaw(url, `${lines.join('\r\n')}\r\n\r\n`);
}
