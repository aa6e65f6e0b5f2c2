import { Duplex } from 'node:stream';
import { NetworkExhausted } from '../ports/network.ts';
import type { Network, NetworkIdentity, NetworkLease, NetworkRules } from '../ports/network.ts';

/** A network of bookkeeping alone: no packet is ever stopped. */
export class FakeNetwork implements Network {
  readonly size: number;
  /** The rules of the guests that may use their network, by address. */
  readonly rules = new Map<string, NetworkRules>();
  /** What servers of guests say to who connects, by address and port (`198.51.100.2:80`). */
  readonly servers = new Map<string, string>();
  /** Addresses of the identities that are held. */
  readonly held = new Set<string>();
  readonly #addresses: number;
  /** Longest unused first. */
  #unused: NetworkIdentity[];
  readonly #free: string[];
  /** Devices in use, by address. */
  readonly #attached = new Map<string, string>();

  /** @param addresses how many identities there are. */
  constructor(size: number, addresses = 253) {
    this.size = size;
    this.#addresses = addresses;
    this.#unused = Array.from({ length: addresses }, (_, number) => fakeIdentity(number));
    this.#free = Array.from({ length: size }, (_, device) => `fake-${device}`);
  }

  /** How many devices are in use. */
  get busy(): number {
    return this.#attached.size;
  }

  lease(): NetworkLease {
    this.#assertFree();
    const [identity] = this.#unused;
    if (identity === undefined) throw new NetworkExhausted('addresses', this.#addresses);
    this.hold(identity);
    return this.attach(identity);
  }

  hold(identity: NetworkIdentity): boolean {
    if (!this.#unused.some((each) => isSame(each, identity))) return false;
    this.#unused = this.#unused.filter((each) => !isSame(each, identity));
    this.held.add(identity.address);
    return true;
  }

  attach({ mac, address, prefixLength, gateway }: NetworkIdentity): NetworkLease {
    if (!this.held.has(address)) throw new Error(`${address} is not held`);
    if (this.#attached.has(address)) throw new Error(`${address} is on a device already`);
    this.#assertFree();
    const tap = this.#free.shift() ?? '';
    this.#attached.set(address, tap);
    return { tap, mac, address, prefixLength, gateway };
  }

  open({ tap, address }: NetworkLease, { egress, rateLimit }: NetworkRules, signal: AbortSignal) {
    return Promise.try(() => {
      if (this.#attached.get(address) !== tap) throw new Error(`${address} is not on ${tap}`);
      signal.throwIfAborted();
      this.rules.set(address, { egress, rateLimit });
    });
  }

  connect({ tap, address }: NetworkLease, port: number, signal: AbortSignal): Promise<Duplex> {
    return Promise.try(() => {
      if (this.#attached.get(address) !== tap) throw new Error(`${address} is not on ${tap}`);
      signal.throwIfAborted();
      if (!this.rules.has(address)) return aborted(signal);
      const said = this.servers.get(`${address}:${port}`);
      if (said === undefined) throw new Error(`connect ECONNREFUSED ${address}:${port}`);
      return speaker(said);
    });
  }

  detach({ tap, address }: NetworkLease): Promise<void> {
    if (this.#attached.get(address) === tap) {
      this.#attached.delete(address);
      this.rules.delete(address);
      this.#free.push(tap);
    }
    return Promise.resolve();
  }

  release({ mac, address, prefixLength, gateway }: NetworkIdentity): void {
    if (this.#attached.has(address)) throw new Error(`${address} is on a device`);
    if (this.held.delete(address)) this.#unused.push({ mac, address, prefixLength, gateway });
  }

  reclaim<Held extends NetworkIdentity>(held: readonly Held[], used: readonly NetworkIdentity[]) {
    const refused = held.filter((identity) => !this.hold(identity));
    const isUsed = (each: NetworkIdentity) => used.some((identity) => isSame(identity, each));
    this.#unused = [...this.#unused.filter((each) => !isUsed(each)), ...this.#unused.filter(isUsed)];
    return Promise.resolve(refused);
  }

  #assertFree(): void {
    if (this.#free.length === 0) throw new NetworkExhausted('devices', this.size);
  }
}

/** What waits for a packet that does not come. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** A connection whose other side says one thing, ends, and takes whatever it is sent. */
function speaker(text: string): Duplex {
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  connection.push(text);
  connection.push(null);
  return connection;
}

function isSame(a: NetworkIdentity, b: NetworkIdentity): boolean {
  return (
    a.mac === b.mac && a.address === b.address && a.prefixLength === b.prefixLength && a.gateway === b.gateway
  );
}

function fakeIdentity(number: number): NetworkIdentity {
  const host = number + 2;
  const mac = `02:00:c6:33:64:${host.toString(16).padStart(2, '0')}`;
  return { mac, address: `198.51.100.${host}`, prefixLength: 24, gateway: '198.51.100.1' };
}
