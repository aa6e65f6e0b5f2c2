/**
 * One sandbox's life over the HTTP API: create, run a Python program, delete. Takes the daemon's URL as its argument and its
 * token, if any, from SERVICE_AUTH_TOKEN.
 */
import { release } from 'node:os';

const PROGRAM = `
import platform
print("Hello from Python", platform.python_version(), "inside a sandbox!")
print("The guest's kernel is", platform.release())
`;

const [url] = process.argv.slice(2);
if (url === undefined) throw new Error('usage: first-sandbox.ts URL');
const token = process.env['SERVICE_AUTH_TOKEN'];
// A boot as long as the daemon allows it (60 s by default), and what comes with it.
const CALL_MS = (Number(process.env['SERVICE_BOOT_TIMEOUT_SECS'] || 60) + 30) * 1000;

/** Calls the daemon; an answer that is no success becomes an error with the daemon's own words. */
async function call(method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(CALL_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Runs one step and says how long it took. */
async function timed<T>(label: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  console.log(`✓ ${label} (${((performance.now() - start) / 1000).toFixed(2)} s)`);
  return result;
}

async function greet(id: string): Promise<void> {
  const body = { command: 'python3', args: ['-c', PROGRAM] };
  const result = (await timed('python3 ran in it', () => call('POST', `/sandboxes/${id}/exec`, body))) as {
    stdout: string;
    stderr: string;
    exit_code: number;
  };
  if (result.exit_code !== 0) throw new Error(`python3 ended with ${result.exit_code}: ${result.stderr}`);
  console.log(result.stdout.trimEnd().replace(/^/gm, '    '));
  console.log(`    The host's  kernel is ${release()}`);
}

const { id } = (await timed('sandbox created', () => call('POST', '/sandboxes', {}))) as { id: string };
try {
  await greet(id);
} finally {
  await timed('sandbox deleted', () => call('DELETE', `/sandboxes/${id}?keep=false`));
}
