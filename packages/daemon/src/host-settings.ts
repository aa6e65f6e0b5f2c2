/** The part of a settings reader that these settings need. */
interface SettingsReader {
  text(name: string): string | undefined;
  integer(name: string, fallback: number, min: number, max: number): number;
  /** Notes a malformed variable and answers the fallback. */
  fault<T>(name: string, value: string, takes: string, fallback: T): T;
}

const BRIDGE = { name: 'SERVICE_BRIDGE_NAME', fallback: 'atoll0' };
const CIDR = { name: 'SERVICE_BRIDGE_CIDR', fallback: '10.213.0.1/16' };
const PREFIX = { name: 'SERVICE_TAP_POOL_PREFIX', fallback: 'atoll' };
const UPLINK = 'SERVICE_UPLINK_IFACE';

// A Linux bridge has at most 1023 ports (BR_MAX_PORTS, net/bridge/br_private.h).
const MAX_POOL_SIZE = 1000;

// What the host's set-up, its check and the daemon have to agree on is read here, so that they cannot read it differently.

/** The unprivileged user that the daemon runs as when root starts it. */
export function readUser(reader: SettingsReader): string {
  const takes = 'an unprivileged user (letters, digits, _ and -), which npm run host:setup makes';
  const user = word(reader, 'SERVICE_USER', 'atoll', /^[a-z_][a-z0-9_-]{0,31}$/, takes);
  return user === 'root' ? reader.fault('SERVICE_USER', user, takes, user) : user;
}

/** Names, addresses and ports of the guests' network. */
export function readNetworkSettings(reader: SettingsReader) {
  const tapPrefix = word(
    reader,
    PREFIX.name,
    PREFIX.fallback,
    /^[A-Za-z][A-Za-z0-9]{0,9}$/,
    'up to 10 letters and digits',
  );
  const bridge = word(
    reader,
    BRIDGE.name,
    BRIDGE.fallback,
    /^[A-Za-z][A-Za-z0-9_-]{0,14}$/,
    'up to 15 letters, digits, _ and -',
  );
  if (bridge.startsWith(`${tapPrefix}-`) || bridge.startsWith(`${tapPrefix}_`))
    reader.fault(
      BRIDGE.name,
      bridge,
      `a name that no tap has: those begin with ${tapPrefix}- and ${tapPrefix}_`,
      bridge,
    );
  const poolSize = reader.integer('SERVICE_TAP_POOL_SIZE', 64, 1, MAX_POOL_SIZE);
  return {
    bridge,
    cidr: bridgeCidr(reader, poolSize),
    tapPrefix,
    poolSize,
    /** Undefined: the interface of the default route. */
    uplink:
      reader.text(UPLINK) && word(reader, UPLINK, '', /^[A-Za-z0-9][\w.:@-]{0,14}$/, 'a network interface'),
    /** Where the name server and the metadata service listen on the gateway's address; guests see 53 and 80. */
    dnsPort: reader.integer('SERVICE_DNS_PORT', 7753, 1024, 65_535),
    metadataPort: reader.integer('SERVICE_METADATA_PORT', 7780, 1024, 65_535),
  };
}

/** Whether each machine's monitor runs in a jail. */
export function readJailed(reader: SettingsReader): boolean {
  const name = 'SERVICE_JAILER_ENABLED';
  const text = reader.text(name) ?? 'false';
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  return reader.fault(name, text, 'true or false', false);
}

function word(reader: SettingsReader, name: string, fallback: string, shape: RegExp, takes: string): string {
  const text = reader.text(name) ?? fallback;
  return shape.test(text) ? text : reader.fault(name, text, takes, fallback);
}

/** The gateway has the network's first address and guests those after it, so that an address is a plain sum. */
function bridgeCidr(reader: SettingsReader, poolSize: number): string {
  const text = reader.text(CIDR.name) ?? CIDR.fallback;
  const [, a, b, c, d, length] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(text) ?? [];
  const octets = [a, b, c, d].map(Number);
  const prefixLength = Number(length);
  const addresses = 2 ** (32 - prefixLength);
  const address = octets.reduce((sum, octet) => sum * 256 + octet, 0);
  const isFirst = octets.every((octet) => octet <= 255) && prefixLength >= 8 && address % addresses === 1;
  if (!isFirst) {
    const takes = 'the first address of an IPv4 network and its prefix length, such as 10.213.0.1/16';
    return reader.fault(CIDR.name, text, takes, CIDR.fallback);
  }
  // The network's own address, the gateway and the broadcast address are not for guests.
  if (poolSize <= addresses - 3) return text;
  return reader.fault(
    CIDR.name,
    text,
    `a network with room for SERVICE_TAP_POOL_SIZE=${poolSize} guests`,
    CIDR.fallback,
  );
}
