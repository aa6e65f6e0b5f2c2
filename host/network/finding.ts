/** Program and arguments, to be run as root. */
export type Command = readonly string[];

/** One thing that a host needs: that it is there, or what is wrong with it and what mends that. */
export type Finding = Sound | Fault;

interface Sound {
  readonly ok: true;
  readonly subject: string;
  readonly text: string;
}

export interface Fault {
  readonly ok: false;
  readonly subject: string;
  readonly text: string;
  readonly mend: readonly Command[];
  /** What to do where no command does it. */
  readonly advice?: string;
}

export function sound(subject: string, text: string): Sound {
  return { ok: true, subject, text };
}

export function fault(subject: string, text: string, ...mend: readonly Command[]): Fault {
  return { ok: false, subject, text, mend };
}

/** A command as a shell reads it. */
export function shellWords(command: Command): string {
  return command
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}
