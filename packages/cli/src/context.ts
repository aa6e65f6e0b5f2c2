import type { Interrupts } from './interrupts.ts';

/** What surrounds a command: the terminal, the environment, and who may interrupt it. */
export interface Context {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly interrupts: Interrupts;
}
