import { z } from 'zod';
import { optional } from './fields.ts';

/** Entries of one list. Five thousand take a quarter of a second to apply; this is where a typing error is likelier than a need. */
export const MAX_CIDRS = 20_000;

const SHAPE = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:\/(\d+))?$/;

/** An IPv4 network: the number of its first address, and how many leading bits of that are the network's. */
interface Ipv4Network {
  readonly first: number;
  readonly prefixLength: number;
}

/** Reads a network in CIDR notation, or says what is wrong with it, as a clause that follows the text itself. */
function readCidr(text: string): Ipv4Network | string {
  if (text.includes(':')) return 'is IPv6: takes IPv4 networks only';
  const [, a, b, c, d, prefix] = SHAPE.exec(text) ?? [];
  const octets = [a, b, c, d];
  // A leading zero means octal to some programs and nothing to others.
  if (octets.some((octet) => octet === undefined || Number(octet) > 255 || /^0\d/.test(octet)))
    return 'is no IPv4 network: takes four numbers from 0 to 255 and a prefix length, such as 10.0.0.0/8';
  if (prefix === undefined) return `has no prefix length: for this one address write ${text}/32`;
  const prefixLength = Number(prefix);
  if (prefixLength > 32 || /^0\d/.test(prefix)) return 'has a bad prefix length: takes 0 to 32';
  const address = octets.reduce((sum, octet) => sum * 256 + Number(octet), 0);
  const first = address - (address % 2 ** (32 - prefixLength));
  if (first !== address)
    return `has bits set beyond its prefix: for the whole network write ${dotted(first)}/${prefixLength}`;
  return { first, prefixLength };
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

// A value is quoted in a message; nobody reads more of it than this.
const QUOTED_CHARACTERS = 64;

/** One IPv4 network. Its message quotes the value, since the path only tells its place in the list. */
const Cidr = z.string().superRefine((text, ctx) => {
  const read = readCidr(text);
  if (typeof read !== 'string') return;
  ctx.addIssue({ code: 'custom', message: `${JSON.stringify(text.slice(0, QUOTED_CHARACTERS))} ${read}` });
});

const CidrList = z.array(Cidr).max(MAX_CIDRS, `takes at most ${MAX_CIDRS} entries`);

/** Which IPv4 networks beyond the host a sandbox may open connections to. The first match wins: deny, allow, mode. */
export const EgressPolicy = z
  .strictObject({
    mode: z
      .enum(['allow_all', 'deny_all'], 'takes allow_all or deny_all')
      .describe('allow_all: everything but deny_cidrs; deny_all: nothing but allow_cidrs.'),
    allow_cidrs: optional(CidrList).describe('IPv4 networks that are open.'),
    deny_cidrs: optional(CidrList).describe(
      'IPv4 networks that are closed, also where they overlap an open one.',
    ),
  })
  .meta({ id: 'EgressPolicy' });
export type EgressPolicy = z.output<typeof EgressPolicy>;
