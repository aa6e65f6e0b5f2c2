import type { Deadline } from '../../lib/deadline.ts';
import type { AgentSession, GuestAgent } from '../../ports/agent.ts';
import { H2AgentSession } from './session.ts';

/** Reaches guest agents by HTTP/2 over their virtio-serial ports. */
export class H2GuestAgent implements GuestAgent {
  connect(socket: string, deadline: Deadline): Promise<AgentSession> {
    return H2AgentSession.open(socket, deadline.signal);
  }
}
