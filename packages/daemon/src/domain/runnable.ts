import type { AgentSession } from '../ports/agent.ts';

// execve(2): the file is there and may be executed, and the kernel knows no way to.
const NOT_EXECUTABLE = 126;
const OTHER_FORMAT = /exec format error/i;

/**
 * Throws when the shell of a guest is a program of another processor's: the agent answers in any guest, and then nothing else
 * would run. A root file system without a shell is left to its owner.
 */
export async function assertRunnable(agent: AgentSession, signal: AbortSignal): Promise<void> {
  let said = '';
  const { exitCode } = await agent.exec(
    { command: '/bin/sh', args: ['-c', ':'], env: {} },
    (_stream, chunk) => (said += chunk.toString()),
    signal,
  );
  if (exitCode === NOT_EXECUTABLE && OTHER_FORMAT.test(said))
    throw new Error("the image's /bin/sh is not a program of this host's processor architecture");
}
