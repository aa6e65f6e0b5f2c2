// The second filter of a jailed monitor, beside QEMU's own (`-sandbox`), which is for QEMU wherever it runs and leaves it what a host's
// QEMU may need: sockets, other namespaces, mounts. A jailed one is handed all it needs as open descriptors.

// linux/audit.h, linux/seccomp.h, linux/bpf_common.h
const AUDIT_ARCH_X86_64 = 0xc000003e;
const [NUMBER_AT, ARCH_AT, FIRST_ARGUMENT_AT] = [0, 4, 16];
const [LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [KILL, ALLOW] = [0x80000000, 0x7fff0000];
const [EPERM, ENOSYS] = [1, 38];
const refuseWith = (errno: number) => 0x00050000 | errno;

// Numbers from here on are of the x32 interface.
const X32_BIT = 0x40000000;

// CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET (linux/sched.h).
const NEW_NAMESPACES = 0x7e020000;
const CLONE = 56;

/** System calls that a monitor has no use for, by their numbers on x86-64 (arch/x86/entry/syscalls/syscall_64.tbl). */
export const REFUSED = {
  socket: 41,
  connect: 42,
  ptrace: 101,
  mknod: 133,
  pivot_root: 155,
  chroot: 161,
  acct: 163,
  mount: 165,
  umount2: 166,
  swapon: 167,
  swapoff: 168,
  reboot: 169,
  iopl: 172,
  ioperm: 173,
  init_module: 175,
  delete_module: 176,
  quotactl: 179,
  add_key: 248,
  request_key: 249,
  keyctl: 250,
  mknodat: 259,
  unshare: 272,
  perf_event_open: 298,
  name_to_handle_at: 303,
  open_by_handle_at: 304,
  setns: 308,
  process_vm_readv: 310,
  process_vm_writev: 311,
  finit_module: 313,
  kexec_file_load: 320,
  bpf: 321,
  userfaultfd: 323,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  mount_setattr: 442,
} as const;

/** Refused as if the kernel had never had them: whoever asks has another way then. */
export const UNKNOWN = {
  clone3: 435,
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
} as const;

interface Instruction {
  readonly code: number;
  readonly jt?: number;
  readonly jf?: number;
  readonly k: number;
}

const answer = (number: number, errno: number): Instruction[] => [
  { code: JUMP_IF_EQUAL, jf: 1, k: number },
  { code: RETURN, k: refuseWith(errno) },
];

/** The filter as bwrap takes it: classic BPF, struct sock_filter after struct sock_filter. */
export function seccompFilter(): Buffer {
  const program: Instruction[] = [
    { code: LOAD, k: ARCH_AT },
    { code: JUMP_IF_EQUAL, jt: 1, k: AUDIT_ARCH_X86_64 },
    { code: RETURN, k: KILL },
    { code: LOAD, k: NUMBER_AT },
    { code: JUMP_IF_AT_LEAST, jf: 1, k: X32_BIT },
    { code: RETURN, k: KILL },
    ...Object.values(REFUSED).flatMap((number) => answer(number, EPERM)),
    ...Object.values(UNKNOWN).flatMap((number) => answer(number, ENOSYS)),
    { code: JUMP_IF_EQUAL, jf: 3, k: CLONE },
    { code: LOAD, k: FIRST_ARGUMENT_AT },
    { code: JUMP_IF_ANY_BIT, jf: 1, k: NEW_NAMESPACES },
    { code: RETURN, k: refuseWith(EPERM) },
    { code: RETURN, k: ALLOW },
  ];
  return Buffer.concat(program.map(encode));
}

function encode({ code, jt = 0, jf = 0, k }: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(jt, 2);
  bytes.writeUInt8(jf, 3);
  bytes.writeUInt32LE(k >>> 0, 4);
  return bytes;
}
