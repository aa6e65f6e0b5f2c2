import type { Socket } from 'node:net';
import type { Deadline } from '../../lib/deadline.ts';
import { connectUnix } from '../../lib/socket-path.ts';
import type { AgentLine, AgentSession, GuestAgent, Names } from '../../ports/agent.ts';
import { awakenEpoch, openEpoch } from './hello.ts';
import { H2AgentSession } from './session.ts';
import { identityRequest } from './wire.ts';

/** Reaches guest agents by HTTP/2 over their virtio-serial ports. */
export class H2GuestAgent implements GuestAgent {
  async attach(path: string, deadline: Deadline): Promise<AgentLine> {
    return new Line(path, await connectUnix(path, deadline.signal));
  }
}

class Line implements AgentLine {
  readonly #path: string;
  #socket: Socket | undefined;

  constructor(path: string, socket: Socket) {
    this.#path = path;
    // Until it is read the socket tells of a machine's end by this event alone; whoever opens the line learns it then.
    this.#socket = socket.on('error', () => undefined);
  }

  async open({ signal }: Deadline): Promise<AgentSession> {
    return new H2AgentSession(this.#path, await openEpoch(this.#take(), signal));
  }

  async awaken(news: Names | undefined, { signal }: Deadline): Promise<AgentSession> {
    const request = news && identityRequest(news);
    return new H2AgentSession(this.#path, await awakenEpoch(this.#take(), request, signal));
  }

  close(): void {
    this.#socket?.destroy();
  }

  #take(): Socket {
    const socket = this.#socket;
    if (socket === undefined) throw new Error('the line was taken over or closed');
    this.#socket = undefined;
    return socket;
  }
}
