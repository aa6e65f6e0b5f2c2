import { z } from 'zod';
import { ExecRequest } from './exec.ts';
import { Base64Bytes, optional, UnixSeconds } from './fields.ts';

/** Body of `POST /sandboxes/:id/exec-stream`. */
export const ExecStreamRequest = ExecRequest.pick({
  command: true,
  args: true,
  env: true,
  cwd: true,
  user: true,
}).meta({ id: 'ExecStreamRequest' });
export type ExecStreamRequest = z.output<typeof ExecStreamRequest>;

export const ExecStreamId = z.object({ id: z.uuid() }).meta({ id: 'ExecStreamId' });

/** A background command, running or ended. */
export const ExecStreamSession = z
  .object({
    id: z.uuid(),
    command: z.string(),
    args: z.array(z.string()),
    started_at_unix: UnixSeconds,
    exit_code: z.int().nullable().describe('null while it runs; 126 and 127: it could not be started.'),
  })
  .meta({ id: 'ExecStreamSession' });
export type ExecStreamSession = z.output<typeof ExecStreamSession>;

export const ExecStreamList = z
  .object({ sessions: z.array(ExecStreamSession) })
  .meta({ id: 'ExecStreamList' });

/** The sandbox and the session, in a path. */
export const ExecStreamParams = z.object({
  id: z.string().describe('Id or name of the sandbox.'),
  session_id: z.string().describe('Id of the session.'),
});

/** Body of `POST /sandboxes/:id/exec-stream/:session_id/stdin`: bytes as text or in base64, and whether they are the last. */
export const StdinRequest = z
  .strictObject({
    stdin: optional(z.string()).describe('Text, sent as UTF-8.'),
    stdin_base64: optional(Base64Bytes).describe(
      'Bytes in base64; they follow the text where both are given.',
    ),
    eof: optional(z.boolean()).describe('Closes the standard input after these bytes.'),
  })
  .meta({ id: 'StdinRequest' });

const SIGNALS = [
  'HUP',
  'INT',
  'QUIT',
  'ILL',
  'TRAP',
  'ABRT',
  'BUS',
  'FPE',
  'KILL',
  'USR1',
  'SEGV',
  'USR2',
  'PIPE',
  'ALRM',
  'TERM',
  'CHLD',
  'CONT',
  'STOP',
  'TSTP',
  'TTIN',
  'TTOU',
  'URG',
  'XCPU',
  'XFSZ',
  'VTALRM',
  'PROF',
  'WINCH',
  'IO',
  'PWR',
  'SYS',
] as const;

/** Query of `DELETE /sandboxes/:id/exec-stream/:session_id`. */
export const EndSessionQuery = z.strictObject({
  signal: z
    .string()
    .transform((name) => name.replace(/^SIG/, ''))
    .pipe(z.enum(SIGNALS, 'takes the name of a signal, such as TERM or KILL'))
    .default('TERM')
    .describe('Signal for the process group of the command.'),
});
