import { execFile } from 'node:child_process';
import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Guest } from './guest.ts';
import type { Lease, Policy } from './guest.ts';
import { Outside, OUTSIDE, UPLINK_ADDRESSES } from './outside.ts';
import { Program } from './program.ts';
import { inNamespace, startServer } from './server.ts';

const execute = promisify(execFile);
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** An unprivileged user that every Linux has, in the daemon's place, and its number. */
export const USER = 'daemon';
export const USER_ID = 1;

/** The host's addresses: on the uplink, a second one there, and one of its own. */
export const HOST_ADDRESSES = [...UPLINK_ADDRESSES, '198.18.0.1'] as const;
export const GATEWAY = '10.213.0.1';
export const GATEWAY_MAC = '02:00:0a:d5:00:01';
export const METADATA = '169.254.169.254';

export interface LabOptions {
  readonly poolSize?: number;
  /** More variables for the set-up and the driver. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The arguments that run a program of Python as a user of the host, with the modules that it may use. Root starts it: not every user may
 * read the interpreter, and what it imports.
 */
export function asUser(user: number, program: string): string[] {
  return [
    'python3',
    '-c',
    `import encodings.idna, os, socket, threading; os.setgroups([]); os.setresuid(${user}, ${user}, ${user})\n${program}`,
  ];
}

/**
 * A host in a network namespace, set up by the set-up itself, with an uplink to another namespace, and the network's driver
 * in it as an unprivileged user with CAP_NET_ADMIN. Nothing of it touches the machine's own network. Takes root.
 */
export class Lab implements AsyncDisposable {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #name: string;
  readonly #stack: AsyncDisposableStack;
  #driver: Program | undefined;
  #guests = 0;
  #outside: Outside | undefined;

  private constructor(name: string, dir: string, env: NodeJS.ProcessEnv, stack: AsyncDisposableStack) {
    this.#name = name;
    this.dir = dir;
    this.env = env;
    this.#stack = stack;
  }

  /** A host with its uplink, on which nothing of Atoll is yet. */
  static async bare(options: LabOptions = {}): Promise<Lab> {
    await using stack = new AsyncDisposableStack();
    // Not below /tmp, which on many hosts allows no devices.
    const dir = await mkdtemp(join('/var/tmp', 'atoll-test-'));
    await chmod(dir, 0o755);
    stack.defer(() => rm(dir, { recursive: true, force: true }));
    const env = {
      ...process.env,
      SERVICE_TAP_POOL_SIZE: String(options.poolSize ?? 8),
      SERVICE_USER: USER,
      ATOLL_RUN_DIR: join(dir, 'run'),
      ...options.env,
    };
    const lab = new Lab(
      `atoll-test-${process.pid}-${Math.random().toString(36).slice(2, 6)}`,
      dir,
      env,
      stack.move(),
    );
    try {
      await lab.#connect();
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    }
    return lab;
  }

  /** A host on which the daemon's network runs. */
  static async create(options: LabOptions = {}): Promise<Lab> {
    const lab = await Lab.bare(options);
    try {
      await lab.setUp();
      await lab.outside.serve();
      await lab.startDriver();
      await lab.driver.call('reclaim', { held: [], used: [] });
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    }
    return lab;
  }

  get driver(): Program {
    if (this.#driver === undefined) throw new Error('the driver was not started');
    return this.#driver;
  }

  get outside(): Outside {
    if (this.#outside === undefined) throw new Error('nothing is connected');
    return this.#outside;
  }

  get resolvConf(): string {
    return join(this.dir, 'resolv.conf');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  /** Runs a command on the host and answers its output. */
  async host(...argv: string[]): Promise<string> {
    return this.#run('host', argv);
  }

  /** All rules of the host's nftables. */
  rules(): Promise<string> {
    return this.host('nft', 'list', 'ruleset');
  }

  /** Owners and modes of the devices that the set-up opens to the daemon's user. */
  devices(): Promise<string> {
    return this.#withDevices('stat', '--format=%n %a %u %g', '/dev/net/tun', '/dev/kvm');
  }

  setUp(): Promise<string> {
    return this.#withDevices(process.execPath, here('../../host/network/setup.ts'));
  }

  tearDown(): Promise<string> {
    return this.#withDevices(process.execPath, here('../../host/network/teardown.ts'));
  }

  /** What the check says, whatever it found. `prepare` is a piece of shell that runs first, with devices of its own. */
  async doctor(prepare = 'true', env: Readonly<Record<string, string>> = {}): Promise<string> {
    const doctor = [process.execPath, here('../../host/network/doctor.ts')];
    const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    return this.#withDevices('sh', '-c', `${prepare}; "$@" || true`, 'sh', 'env', ...assignments, ...doctor);
  }

  /** Starts the network as the daemon's user, with the daemon's one capability. */
  async startDriver(): Promise<void> {
    const program = here('../../packages/daemon/src/testing/network-driver.ts');
    const netlink = await realpath(netlinkPath());
    const driver = [process.execPath, program, this.resolvConf, netlink];
    this.#driver = this.#stack.use(await Program.start(this.#inNamespace('host', driver), this.env));
  }

  /** Lets a lease's guest use its network under a policy; none means unrestricted. */
  async open(lease: Lease, egress?: Policy): Promise<void> {
    await this.driver.call('open', { lease, rules: { egress } });
  }

  /** Ends a lease, with its identity. */
  async end(lease: Lease): Promise<void> {
    await this.driver.call('detach', { lease });
    await this.driver.call('release', { identity: lease });
  }

  /** Where the host and the bridge are told that guests are, a line each. */
  async stations(): Promise<string[]> {
    const [entries, neighbours] = await Promise.all([
      this.host('bridge', 'fdb', 'show', 'br', 'atoll0'),
      this.host('ip', 'neighbour', 'show', 'dev', 'atoll0', 'nud', 'permanent'),
    ]);
    return [...entries.split('\n').filter((line) => line.includes(' static')), ...neighbours.split('\n')]
      .map((line) => line.trim())
      .filter((line) => line !== '');
  }

  /** Starts a guest on a lease, which is taken if there is none yet. It is not open then. */
  async addGuest(given?: Lease): Promise<Guest> {
    const lease = given ?? ((await this.driver.call('lease')) as Lease);
    const namespace = await this.#addNamespace(`g${(this.#guests += 1)}`);
    const owner = String(USER_ID);
    const { tap, mac, address, prefixLength, gateway } = lease;
    const program = await Program.start(
      this.#inNamespace('host', [
        ...['python3', here('guest.py'), tap, owner, namespace],
        ...[mac, address, String(prefixLength), gateway],
      ]),
    );
    return new Guest(lease, this.#stack.use(program));
  }

  /** Guests with an unrestricted policy. */
  addGuests(count: number): Promise<Guest[]> {
    return Promise.all(
      Array.from({ length: count }, async () => {
        const guest = await this.addGuest();
        await this.open(guest.lease);
        return guest;
      }),
    );
  }

  /** TCP and UDP on port 7000, and a web server, on addresses of the host, for guests who should not get there. */
  async serveHost(addresses: readonly string[]): Promise<void> {
    await this.serve('ready', 'python3', here('outside.py'), ...addresses);
  }

  /** Starts a program on the host and waits until it says a word. It ends with the lab. */
  async serve(sign: string, ...argv: string[]): Promise<void> {
    this.#stack.use(await startServer(this.#inNamespace('host', argv), sign));
  }

  /** Where the host's own resolvers are. */
  async pointResolver(address: string): Promise<void> {
    await writeFile(this.resolvConf, `nameserver ${address}\n`);
  }

  async #connect(): Promise<void> {
    const host = await this.#addNamespace('host');
    await execute('ip', ['-n', host, 'link', 'set', 'lo', 'up']);
    this.#outside = this.#stack.use(await Outside.attach(`${this.#name}-out`, host));
    await execute('ip', ['-n', host, 'address', 'add', `${HOST_ADDRESSES[2]}/32`, 'dev', 'lo']);
    await this.pointResolver(OUTSIDE[0]);
  }

  /** As root on the host, with a /dev of its own: what the set-up does to devices must not reach the machine's. */
  #withDevices(...argv: string[]): Promise<string> {
    return this.host('sh', here('own-devices.sh'), this.dir, ...argv);
  }

  async #addNamespace(role: string): Promise<string> {
    const name = `${this.#name}-${role}`;
    await execute('ip', ['netns', 'add', name]);
    this.#stack.defer(() => execute('ip', ['netns', 'delete', name]).then(() => undefined));
    return name;
  }

  #inNamespace(role: string, argv: readonly string[]): string[] {
    return inNamespace(`${this.#name}-${role}`, argv);
  }

  async #run(role: string, argv: readonly string[]): Promise<string> {
    const [file = '', ...args] = this.#inNamespace(role, argv);
    return (await execute(file, args, { env: this.env, maxBuffer: 64 * 1024 * 1024 })).stdout;
  }
}

/** Where the set-up of a root's host puts the daemon's helper. */
function netlinkPath(): string {
  const { SERVICE_NETLINK_PATH, ATOLL_CACHE_DIR = '/var/cache/atoll' } = process.env;
  return SERVICE_NETLINK_PATH ?? join(ATOLL_CACHE_DIR, 'current/netlink');
}
