import { z } from 'zod';
import { SocketQuery } from './streams.ts';

/** WebSocket subprotocol with which text messages are JSON controls and events. Without it they are terminal bytes. */
export const PTY_PROTOCOL = 'atoll.pty.v1';

// The kernel keeps each in 16 bits (struct winsize); a program that is told of tens of thousands allocates for all of them.
const MAX_SIDE = 1000;
const side = z.int().min(1).max(MAX_SIDE);
const querySide = z.coerce
  .number('takes a number')
  .pipe(z.int(`takes an integer from 1 to ${MAX_SIDE}`))
  .refine((size) => size >= 1 && size <= MAX_SIDE, `takes an integer from 1 to ${MAX_SIDE}`);

/** Query of `GET /sandboxes/:id/pty`: the size of the terminal in characters. */
export const PtyQuery = SocketQuery.extend({
  cols: querySide.default(80).describe('Columns.'),
  rows: querySide.default(24).describe('Rows.'),
});

/** What a client of the subprotocol may send as text. */
export const PtyControl = z
  .strictObject({ type: z.literal('resize'), cols: side, rows: side })
  .meta({ id: 'PtyControl' });

/** What a client of the subprotocol gets as text. */
export type PtyEvent =
  | { readonly type: 'resized'; readonly cols: number; readonly rows: number }
  | { readonly type: 'error'; readonly error: string }
  | { readonly type: 'exit'; readonly exit_code: number };
