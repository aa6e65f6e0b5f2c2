import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A command as it runs in a named network namespace. */
export function inNamespace(name: string, argv: readonly string[]): string[] {
  return ['ip', 'netns', 'exec', name, ...argv];
}

/** Starts a server and waits until it says that it is one. It dies with this process, or when it is disposed of. */
export async function startServer(argv: readonly string[], sign: string): Promise<AsyncDisposable> {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...argv], { stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  await new Promise<void>((resolve, reject) => {
    let said = '';
    const listen = (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes(sign)) resolve();
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('exit', () => reject(new Error(`${argv.join(' ')}: ${said}`)));
  });
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
