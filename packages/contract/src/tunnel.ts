import { z } from 'zod';

/** Body of `POST /sandboxes/:id/tunnel`. Port 0 is reserved: to the kernel it means any port. */
export const CreateTunnel = z
  .strictObject({
    guest_port: z
      .int()
      .refine((port) => port >= 1 && port <= 65_535, 'takes a port from 1 to 65535')
      .describe("Port of the guest's 127.0.0.1 that will reach the caller."),
  })
  .meta({ id: 'CreateTunnel' });
export type CreateTunnel = z.output<typeof CreateTunnel>;

export const Tunnel = z.object({ tunnel_id: z.uuid(), guest_port: z.int() }).meta({ id: 'Tunnel' });
export type Tunnel = z.output<typeof Tunnel>;

export const TunnelParams = z.object({
  id: z.string().describe('Id or name of the sandbox.'),
  tunnel_id: z.string().describe('Id of the tunnel.'),
});

/** Query of `DELETE /sandboxes/:id/tunnel`. */
export const TunnelQuery = z.strictObject({ tunnel_id: z.string().describe('Id of the tunnel.') });
