/** Every exit code that is the command's own. What runs a program in a sandbox passes that program's on. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  unauthorized: 5,
  unavailable: 6,
  unreachable: 7,
  timeout: 8,
  /** Of `run`, `exec` and `shell`, where every other code may be the program's. */
  notRun: 125,
} as const;

/** A wrong use of the command line. The hint says what to write. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** A failure of this machine's, or of the command's own. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  readonly hint: string | undefined;

  constructor(message: string, hint?: string, exitCode: number = EXIT.failed) {
    super(message);
    this.hint = hint;
    this.exitCode = exitCode;
  }
}
