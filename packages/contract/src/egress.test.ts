import { describe, expect, it } from 'vitest';
import { EgressPolicy, MAX_CIDRS } from './egress.ts';

function faultOf(policy: unknown): { path: string; message: string } {
  const parsed = EgressPolicy.safeParse(policy);
  const issue = parsed.error?.issues[0];
  if (issue === undefined) throw new Error('it was taken');
  return { path: issue.path.map(String).join('.'), message: issue.message };
}

const denying = (cidr: string) => ({ mode: 'allow_all', deny_cidrs: ['10.0.0.0/8', cidr] });

describe('EgressPolicy', () => {
  it.each([
    '0.0.0.0/0',
    '10.0.0.0/8',
    '192.168.1.0/24',
    '203.0.113.7/32',
    '255.255.255.255/32',
    '128.0.0.0/1',
  ])('takes %s', (cidr) => {
    expect(EgressPolicy.parse(denying(cidr)).deny_cidrs).toEqual(['10.0.0.0/8', cidr]);
  });

  it.each([
    ['2001:db8::/32', 'is IPv6'],
    ['::ffff:10.0.0.0/104', 'is IPv6'],
    ['10.0.0.0/33', 'bad prefix length'],
    ['10.0.0.0/08', 'bad prefix length'],
    ['10.0.0.0/-1', 'is no IPv4 network'],
    ['10.0.0.0/', 'is no IPv4 network'],
    ['10.0.0/24', 'is no IPv4 network'],
    ['10.0.0.256/32', 'is no IPv4 network'],
    ['010.0.0.0/8', 'is no IPv4 network'],
    ['example.com', 'is no IPv4 network'],
    [' 10.0.0.0/8', 'is no IPv4 network'],
    ['', 'is no IPv4 network'],
    ['203.0.113.7', 'write 203.0.113.7/32'],
    ['10.1.2.3/8', 'write 10.0.0.0/8'],
    ['255.255.255.255/31', 'write 255.255.255.254/31'],
    ['0.0.0.1/0', 'write 0.0.0.0/0'],
  ])('refuses %j, naming it and its place', (cidr, problem) => {
    const { path, message } = faultOf(denying(cidr));
    expect(path).toBe('deny_cidrs.1');
    expect(message).toContain(JSON.stringify(cidr));
    expect(message).toContain(problem);
  });

  it('names the one bad entry among five thousand', () => {
    const cidrs = Array.from({ length: 5000 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`);
    expect(EgressPolicy.parse({ mode: 'deny_all', allow_cidrs: cidrs }).allow_cidrs).toEqual(cidrs);
    cidrs[4321] = '10.0.0.1/24';
    expect(faultOf({ mode: 'deny_all', allow_cidrs: cidrs }).path).toBe('allow_cidrs.4321');
  });

  it('takes a list no longer than it says', () => {
    const cidrs = Array.from({ length: MAX_CIDRS + 1 }, () => '10.0.0.0/8');
    expect(faultOf({ mode: 'deny_all', allow_cidrs: cidrs }).message).toBe(
      `takes at most ${MAX_CIDRS} entries`,
    );
  });

  it('needs a mode, takes null for an absent list, and refuses what it does not know', () => {
    expect(faultOf({}).message).toBe('takes allow_all or deny_all');
    expect(faultOf({ mode: 'open' }).message).toBe('takes allow_all or deny_all');
    expect(EgressPolicy.parse({ mode: 'deny_all', allow_cidrs: null }).allow_cidrs).toBeUndefined();
    expect(faultOf({ mode: 'deny_all', ports: [80] }).message).toContain('ports');
  });
});
