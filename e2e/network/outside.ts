import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inNamespace, startServer } from './server.ts';

const execute = promisify(execFile);
const SERVERS = fileURLToPath(new URL('outside.py', import.meta.url));

/** Two hosts beyond the uplink, each with a web server, a name server, and TCP and UDP on port 7000. */
export const OUTSIDE = ['198.51.100.10', '203.0.113.20'] as const;
/** What the name server of each resolves to the address of that host. */
export const NAME = 'where.atoll.test';
/** The host's addresses on its uplink. */
export const UPLINK_ADDRESSES = ['192.0.2.2', '192.0.2.3'] as const;
const ROUTER = '192.0.2.1';

/** What lies beyond a host's uplink: a network namespace that its `uplink0` leads to, with two hosts in it. Takes root. */
export class Outside implements AsyncDisposable {
  readonly #name: string;
  readonly #stack: AsyncDisposableStack;

  private constructor(name: string, stack: AsyncDisposableStack) {
    this.#name = name;
    this.#stack = stack;
  }

  /** @param host the namespace of the host; that of this process when there is no such name. */
  static async attach(name: string, host?: string): Promise<Outside> {
    await using stack = new AsyncDisposableStack();
    await execute('ip', ['netns', 'add', name]);
    stack.defer(() => execute('ip', ['netns', 'delete', name]).then(() => undefined));
    const onHost = host === undefined ? 'ip' : `ip -n ${host}`;
    const lines = [
      `ip -n ${name} link set lo up`,
      `${onHost} link add uplink0 type veth peer name out0 netns ${name}`,
      ...UPLINK_ADDRESSES.map((address) => `${onHost} address add ${address}/24 dev uplink0`),
      `ip -n ${name} address add ${ROUTER}/24 dev out0`,
      ...OUTSIDE.map((address) => `ip -n ${name} address add ${address}/32 dev lo`),
      `${onHost} link set uplink0 up`,
      `ip -n ${name} link set out0 up`,
      `${onHost} route add default via ${ROUTER}`,
    ];
    for (const line of lines) {
      const [file = '', ...args] = line.split(' ');
      await execute(file, args);
    }
    return new Outside(name, stack.move());
  }

  /** Runs a command there and answers its output. */
  async run(...argv: string[]): Promise<string> {
    const [file = '', ...args] = inNamespace(this.#name, argv);
    return (await execute(file, args)).stdout;
  }

  /** Starts the servers of both hosts. */
  async serve(): Promise<void> {
    await this.start(['python3', SERVERS, ...OUTSIDE], 'ready');
    for (const address of OUTSIDE) {
      const record = `--host-record=${NAME},${address},2001:db8::${address.split('.')[3]}`;
      const bind = [`--listen-address=${address}`, '--bind-interfaces', '--port=53', '--pid-file='];
      const alone = ['--conf-file=/dev/null', '--no-resolv', '--no-hosts', '--user=root', '--log-facility=-'];
      await this.start(['dnsmasq', '--keep-in-foreground', ...alone, ...bind, record], 'started');
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** Starts a server there, which says so in these words. */
  async start(argv: readonly string[], sign: string): Promise<void> {
    this.#stack.use(await startServer(inNamespace(this.#name, argv), sign));
  }
}
