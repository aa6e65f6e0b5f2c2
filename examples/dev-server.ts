/**
 * Serves a folder from a sandbox, and shows the link for a browser.
 *
 *     node dev-server.ts <folder> <port> [command of the server...]
 *
 * Without a command it is Python's own server. Ends, and destroys the sandbox, at Enter and at the end of its input.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Sandbox } from '@atoll/sdk';

const START_MS = 60_000;
const [folder = '.', port = '8000', ...given] = process.argv.slice(2);
const [command = 'python3', ...args] = given.length > 0 ? given : ['python3', '-m', 'http.server', port];

/** Asks until the server listens, and answers its first answer. */
async function firstAnswer(sandbox: Sandbox): Promise<Response> {
  const end = Date.now() + START_MS;
  for (;;) {
    const answer = await sandbox.fetch(Number(port), '/');
    if (answer.status !== 502 || Date.now() > end) return answer;
    await answer.body?.cancel();
    await sleep(500);
  }
}

await using sandbox = await Sandbox.create();
await sandbox.files.upload(folder, '/srv/site');
await sandbox.spawn(command, args, { cwd: '/srv/site' });
// With the token, if there is one: a browser has no other way to send it.
console.log(sandbox.previewUrl(Number(port), '/', { withToken: true }));
const answer = await firstAnswer(sandbox);
console.log(`it answers ${answer.status}: ${(await answer.text()).trim()}`);
process.stdin.resume();
await Promise.race([once(process.stdin, 'data'), once(process.stdin, 'end')]);
process.stdin.destroy();
