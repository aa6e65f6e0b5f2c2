import { expect, test } from 'vitest';
import { REFUSED, seccompFilter, UNKNOWN } from './seccomp.ts';

const X86_64 = 0xc000003e;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const refused = (errno: number) => 0x00050000 | errno;

/** What the filter answers to a system call: an interpreter of the classic BPF it is written in. */
function answer(number: number, argument = 0, arch = X86_64): number {
  const program = seccompFilter();
  const data = new Map([
    [0, number],
    [4, arch],
    [16, argument],
  ]);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const [code, jt, jf] = [
      program.readUInt16LE(at * 8),
      program.readUInt8(at * 8 + 2),
      program.readUInt8(at * 8 + 3),
    ];
    const k = program.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return k;
    if (code === 0x20) accumulator = data.get(k) ?? 0;
    else if (code === 0x15) at += accumulator === k ? jt : jf;
    else if (code === 0x35) at += accumulator >= k ? jt : jf;
    else if (code === 0x45) at += (accumulator & k) !== 0 ? jt : jf;
    else throw new Error(`no such instruction: ${code}`);
  }
  throw new Error('the program has no end');
}

test('what a monitor has no use for is refused', () => {
  for (const number of Object.values(REFUSED)) expect(answer(number)).toBe(refused(1));
  for (const number of Object.values(UNKNOWN)) expect(answer(number)).toBe(refused(38));
});

test('what it needs is let through', () => {
  // read, mmap, ioctl, accept4, execve (of QEMU itself, by setpriv), setresuid
  for (const number of [0, 9, 16, 288, 59, 117]) expect(answer(number)).toBe(ALLOW);
});

test('it starts threads, and no namespaces', () => {
  const [clone, threads, newUser] = [56, 0x003d0f00, 0x10000000];
  expect(answer(clone, threads)).toBe(ALLOW);
  expect(answer(clone, newUser)).toBe(refused(1));
});

test('numbers of other interfaces end it', () => {
  expect(answer(41, 0, 0x40000003)).toBe(KILL);
  expect(answer(0x40000000 | 41)).toBe(KILL);
});
