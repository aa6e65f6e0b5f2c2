/** A lease as the driver hands it out. */
export interface Lease {
  readonly tap: string;
  readonly mac: string;
  readonly address: string;
  readonly prefixLength: number;
  readonly gateway: string;
}

export interface Policy {
  readonly mode: 'allow_all' | 'deny_all';
  readonly allowCidrs: readonly string[];
  readonly denyCidrs: readonly string[];
}

export interface Page {
  readonly status: number;
  readonly body: string;
}

// How long a guest waits for what may be stopped on its way; an answer takes a millisecond, on a busy machine some hundred.
const STOPPED_SECONDS = 2;

/** What does as it is told inside a guest: `guest.py`. */
export interface Caller {
  call(method: string, params: object): Promise<unknown>;
}

/** Who a guest is on its network. */
export type Place = Pick<Lease, 'mac' | 'address'>;

/** A guest: a namespace on a tap, or a sandbox. What does not come through rejects. */
export class Guest<P extends Place = Lease> {
  readonly lease: P;
  readonly #program: Caller;

  constructor(lease: P, program: Caller) {
    this.lease = lease;
    this.#program = program;
  }

  tcp(host: string, port: number): Promise<string> {
    return this.#call('tcp', { host, port, timeout: STOPPED_SECONDS });
  }

  udp(host: string, port: number): Promise<string> {
    return this.#call('udp', { host, port, timeout: STOPPED_SECONDS });
  }

  /** Answers who replied. */
  icmp(host: string, source?: string): Promise<string> {
    return this.#call('icmp', { host, source, timeout: STOPPED_SECONDS });
  }

  web(
    host: string,
    path: string,
    options: { method?: string; headers?: Record<string, string> } = {},
  ): Promise<Page> {
    return this.#call('web', { host, path, ...options });
  }

  /** The addresses of a name: IPv4 and IPv6, asked for at once. */
  resolve(server: string, name: string): Promise<[a: string[], aaaa: string[]]> {
    return this.#call('resolve', { server, name, kinds: [1, 28] });
  }

  resolveTcp(server: string, name: string): Promise<string[]> {
    return this.#call('resolve_tcp', { server, name, kind: 1 });
  }

  /** Sends Ethernet frames, in hexadecimal, as they are. */
  sendFrames(...frames: string[]): Promise<number> {
    return this.#call('send_frames', { frames });
  }

  /** The frames that came in within that time, or until so many IPv4 packets did, in hexadecimal. */
  capture(seconds: number, packets: number | null = null): Promise<string[]> {
    return this.#call('capture', { seconds, packets });
  }

  /** Answers whoever gets through to a port, over TCP and UDP. */
  async listen(port: number): Promise<void> {
    await this.#call('listen', { port });
  }

  run(...argv: string[]): Promise<string> {
    return this.#call('run', { argv });
  }

  async #call<T>(method: string, params: object): Promise<T> {
    return (await this.#program.call(method, params)) as T;
  }
}

/** Whether something comes through. */
export async function reaches(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  );
}
