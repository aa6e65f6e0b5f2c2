import { z } from 'zod';
import { optional } from './fields.ts';

/** Entries of one list. Five thousand take a quarter of a second to put in force. */
export const MAX_CIDRS = 20_000;

const SHAPE = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:\/(\d+))?$/;
// Octal to some programs, decimal to others.
const LEADING_ZERO = /^0\d/;

/** What keeps a text from being an IPv4 network, as a clause that follows the text itself; undefined when nothing does. */
function cidrFault(text: string): string | undefined {
  if (text.includes(':')) return 'is IPv6: takes IPv4 networks only';
  const [, a = '', b = '', c = '', d = '', prefix] = SHAPE.exec(text) ?? [];
  const octets = [a, b, c, d];
  if (octets.some((octet) => octet === '' || Number(octet) > 255 || LEADING_ZERO.test(octet)))
    return 'is no IPv4 network: takes four numbers from 0 to 255 and a prefix length, such as 10.0.0.0/8';
  if (prefix === undefined) return `has no prefix length: for this one address write ${text}/32`;
  if (Number(prefix) > 32 || LEADING_ZERO.test(prefix)) return 'has a bad prefix length: takes 0 to 32';
  const address = octets.reduce((sum, octet) => sum * 256 + Number(octet), 0);
  const hostBits = address % 2 ** (32 - Number(prefix));
  if (hostBits === 0) return undefined;
  return `has bits set beyond its prefix: for the whole network write ${dotted(address - hostBits)}/${prefix}`;
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

// How much of a bad value its message quotes.
const QUOTED_CHARACTERS = 64;

/** One IPv4 network. The message quotes the value, since the path only tells its place in the list. */
const Cidr = z.string().superRefine((text, ctx) => {
  const fault = cidrFault(text);
  if (fault === undefined) return;
  ctx.addIssue({ code: 'custom', message: `${JSON.stringify(text.slice(0, QUOTED_CHARACTERS))} ${fault}` });
});

const CidrList = z.array(Cidr).max(MAX_CIDRS, `takes at most ${MAX_CIDRS} entries`);

/** Which IPv4 networks beyond the host a sandbox may reach. The first match wins: deny_cidrs, allow_cidrs, mode. */
export const EgressPolicy = z
  .strictObject({
    mode: z
      .enum(['allow_all', 'deny_all'], 'takes allow_all or deny_all')
      .describe('allow_all: everything but deny_cidrs; deny_all: nothing but allow_cidrs.'),
    allow_cidrs: optional(CidrList).describe('IPv4 networks that are open.'),
    deny_cidrs: optional(CidrList).describe(
      'IPv4 networks that are closed, even where an open one overlaps.',
    ),
  })
  .meta({ id: 'EgressPolicy' });
export type EgressPolicy = z.output<typeof EgressPolicy>;

/** A policy as a sandbox shows it. */
export const EgressItem = z
  .object({
    mode: z.enum(['allow_all', 'deny_all']),
    allow_cidrs: z.array(z.string()),
    deny_cidrs: z.array(z.string()),
  })
  .meta({ id: 'Egress' });
