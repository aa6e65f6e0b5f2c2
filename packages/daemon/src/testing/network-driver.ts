/**
 * The network with its name server and metadata service as a program, which tests put into a namespace. Started by root it
 * becomes SERVICE_USER with one capability, as the daemon does. Requests are JSON lines on standard input, answered on standard
 * output; it ends with its input. Arguments: the file that names the host's resolvers, and the netlink helper.
 */
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { MetadataServer } from '../adapters/metadata-http/server.ts';
import type { GuestIdentity } from '../adapters/metadata-http/document.ts';
import { NameServer } from '../adapters/network-linux/name-server.ts';
import { LinuxNetwork } from '../adapters/network-linux/network.ts';
import { Deadline } from '../lib/deadline.ts';
import { readNetworkSettings } from '../host-settings.ts';
import { become, confine, findUser } from '../privileges.ts';
import type { NetworkIdentity, NetworkLease, NetworkRules } from '../ports/network.ts';

const [resolvConf = '', netlinkPath = ''] = process.argv.slice(2);
const START_MS = 60_000;
const CALL_MS = 60_000;

if (process.getuid?.() === 0) {
  const command = [process.execPath, ...process.argv.slice(1)];
  const { argv } = await confine(await findUser(process.env.SERVICE_USER ?? ''), command, [netlinkPath]);
  become(argv, process.env);
}

const settings = readNetworkSettings({
  text: (name) => process.env[name],
  integer: (name, fallback) => Number(process.env[name] ?? fallback),
  fault: (name, value, takes) => {
    throw new Error(`${name}=${value}: takes ${takes}`);
  },
});
const identities = new Map<string, GuestIdentity>();

await using stack = new AsyncDisposableStack();
using deadline = Deadline.in(START_MS, 'the start');
const network = stack.use(await LinuxNetwork.create({ ...settings, netlinkPath }, deadline.signal));
const { plan } = network;
stack.use(await NameServer.start(plan, resolvConf, pino({}, process.stderr), deadline));
const identityOf = (address: string) => identities.get(address);
stack.use(await MetadataServer.listen({ host: plan.gateway, port: plan.metadataPort, identityOf }));

const methods = {
  size: () => network.size,
  lease: () => network.lease(),
  hold: ({ identity }: { identity: NetworkIdentity }) => network.hold(identity),
  attach: ({ identity }: { identity: NetworkIdentity }) => network.attach(identity),
  open: ({ lease, rules, abort }: { lease: NetworkLease; rules: NetworkRules; abort?: boolean }) =>
    network.open(lease, rules, abort ? AbortSignal.abort() : AbortSignal.timeout(CALL_MS)),
  connect: async ({ lease, port, ms }: { lease: NetworkLease; port: number; ms: number }) =>
    text(await network.connect(lease, port, AbortSignal.timeout(ms))),
  detach: ({ lease }: { lease: NetworkLease }) => network.detach(lease),
  detachConnected: async ({ lease, port }: { lease: NetworkLease; port: number }) => {
    const connection = await network.connect(lease, port, AbortSignal.timeout(CALL_MS));
    await network.detach(lease);
    connection.write('late');
  },
  release: ({ identity }: { identity: NetworkIdentity }) => network.release(identity),
  reclaim: ({ held, used }: { held: NetworkIdentity[]; used: NetworkIdentity[] }) =>
    network.reclaim(held, used, AbortSignal.timeout(CALL_MS)),
  identify: ({ address, identity }: { address: string; identity: GuestIdentity }) => {
    identities.set(address, identity);
  },
};

interface Request {
  readonly id: number;
  readonly method: keyof typeof methods;
  readonly params: never;
}

async function answer({ id, method, params }: Request): Promise<void> {
  try {
    write({ id, result: (await methods[method](params)) ?? null });
  } catch (error) {
    write({ id, error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
  }
}

function write(reply: object): void {
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

write({ id: 0, result: 'ready' });
for await (const line of createInterface({ input: process.stdin })) void answer(JSON.parse(line) as Request);
