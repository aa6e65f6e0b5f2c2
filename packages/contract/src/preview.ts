import { z } from 'zod';

/** The sandbox and its port, in a path. */
export const PreviewParams = z.object({
  id: z.string().describe('Id or name of the sandbox.'),
  port: z
    .string()
    .regex(/^[1-9]\d{0,4}$/, 'takes a port from 1 to 65535')
    .transform(Number)
    .refine((port) => port <= 65_535, 'takes a port from 1 to 65535')
    .describe('Port inside the sandbox.'),
});

export const PreviewPathParams = PreviewParams.extend({ '*': z.string().describe('Path at the server.') });
