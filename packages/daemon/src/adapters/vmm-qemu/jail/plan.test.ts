import { expect, test } from 'vitest';
import { FD, jailCommand } from './plan.ts';
import type { JailPlan } from './plan.ts';

const PLAN: JailPlan = {
  daemon: { uid: 990, gid: 991 },
  monitor: { uid: 200_007, gid: 300_007 },
  kvmGid: undefined,
  cgroup: '/sys/fs/cgroup/atoll/vm-1',
  tap: 'atoll-3',
  agentSocket: '/state/machines/1/agent.sock',
  qmpSocket: '/state/machines/1/qmp.sock',
  filter: '/state/jail.bpf',
  bindings: [
    { path: '/usr/bin/qemu', access: 'read' },
    { path: '/state/machines/1/root.qcow2', access: 'write' },
    { path: '/dev/kvm', access: 'device' },
  ],
  resourceLimits: ['--core=0:0'],
  setpriv: '/usr/bin/setpriv',
  command: ['/usr/bin/qemu', '-name', 'atoll-1'],
};

/** The words of one program of the chain, without its name. */
function wordsOf(program: string, plan: JailPlan = PLAN): string[] {
  const command = jailCommand(plan);
  const words = command.slice(command.indexOf(program) + 1);
  return words.slice(0, words.indexOf('--'));
}

/** Whether these words stand behind each other. */
function has(words: readonly string[], ...expected: string[]): boolean {
  return words.some((_, at) => expected.every((word, offset) => words[at + offset] === word));
}

test('programs follow each other from the outside to the inside', () => {
  const command = jailCommand(PLAN);
  const order = ['perl', 'prlimit', 'bwrap', '/usr/bin/setpriv'].map((program) => command.indexOf(program));
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(order).not.toContain(-1);
  expect(command.slice(-3)).toEqual(PLAN.command);
  expect(wordsOf('prlimit')).toEqual(['--core=0:0']);
});

test('two users of the host are in the namespace: the daemon and the machine’s own', () => {
  expect(has(wordsOf('perl'), '--uids', '0 990 1,1 200007 1')).toBe(true);
  expect(has(wordsOf('perl'), '--gids', '0 991 1,1 300007 1')).toBe(true);
});

test('what the monitor needs is opened before its user is another', () => {
  const words = wordsOf('perl');
  expect(has(words, '--tap', `${FD.tap}=atoll-3`)).toBe(true);
  expect(has(words, '--listen', `${FD.agent}=${PLAN.agentSocket}`)).toBe(true);
  expect(has(words, '--listen', `${FD.qmp}=${PLAN.qmpSocket}`)).toBe(true);
  expect(has(words, '--cgroup', PLAN.cgroup)).toBe(true);
  const { tap: _, ...rest } = PLAN;
  expect(wordsOf('perl', { ...rest, tap: undefined })).not.toContain('--tap');
});

test('the root holds the bindings and nothing else, and every namespace is its own', () => {
  const words = wordsOf('bwrap');
  const mounted = words.flatMap((word, at) =>
    /^--(ro-|dev-)?bind$/.test(word) ? [[word, words[at + 1]]] : [],
  );
  expect(mounted).toEqual([
    ['--ro-bind', '/usr/bin/qemu'],
    ['--bind', '/state/machines/1/root.qcow2'],
    ['--dev-bind', '/dev/kvm'],
  ]);
  expect(has(words, '--remount-ro', '/')).toBe(true);
  for (const name of ['pid', 'ipc', 'uts', 'net', 'cgroup']) expect(words).toContain(`--unshare-${name}`);
  for (const forbidden of ['--proc', '--dev', '--share-net']) expect(words).not.toContain(forbidden);
  expect(has(words, '--seccomp', String(FD.filter))).toBe(true);
  expect(words).toContain('--die-with-parent');
});

test('the directories on the way to a binding can be entered', () => {
  const words = wordsOf('bwrap');
  for (const dir of ['/usr', '/usr/bin', '/state', '/state/machines', '/state/machines/1'])
    expect(has(words, '--perms', '0755', '--dir', dir)).toBe(true);
});

test('at the end no capability is left, in any set, and no group but that of KVM', () => {
  const words = wordsOf('/usr/bin/setpriv');
  for (const option of ['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--no-new-privs'])
    expect(words).toContain(option);
  expect(has(words, '--reuid', '1', '--regid', '1', '--clear-groups')).toBe(true);
  const kvm = { ...PLAN, kvmGid: 108 };
  expect(has(wordsOf('/usr/bin/setpriv', kvm), '--groups', '2')).toBe(true);
  expect(has(wordsOf('perl', kvm), '--gids', '0 991 1,1 300007 1,2 108 1')).toBe(true);
  const own = { ...PLAN, kvmGid: PLAN.daemon.gid };
  expect(has(wordsOf('/usr/bin/setpriv', own), '--groups', '0')).toBe(true);
  expect(has(wordsOf('perl', own), '--gids', '0 991 1,1 300007 1')).toBe(true);
});
