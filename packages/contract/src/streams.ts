import { z } from 'zod';

/** Query of a WebSocket route: browsers set no headers on a handshake, so the token may stand here. */
export const SocketQuery = z.strictObject({
  token: z.string().optional().describe('The API token, for clients that cannot set headers.'),
});
