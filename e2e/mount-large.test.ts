import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { transferSize } from './harness/large.ts';
import { MountLab } from './storage/mount-lab.ts';

let lab: MountLab;
beforeAll(async () => {
  lab = await MountLab.create();
});
afterAll(() => lab[Symbol.asyncDispose]());

const MIB = 1024 * 1024;
const LARGE_MIB = transferSize({ full: 200, usual: 64 });
// A minute where nothing else runs: rclone and the guest's network are emulated without KVM.
const BUSY_MS = 600_000;

describe('a bucket', () => {
  it(
    `carries ${LARGE_MIB} MiB each way`,
    async () => {
      const large = randomBytes(LARGE_MIB * MIB);
      await lab.s3.put('data/in', large);
      const mounted = await lab.mount('/srv/large');
      const written = await lab.sandbox.sh(
        `dd if=/dev/urandom of=/srv/large/out bs=1M count=${LARGE_MIB} 2>/dev/null; sha256sum </srv/large/out`,
      );
      const read = await lab.sandbox.sh('sha256sum </srv/large/in');
      await lab.unmount(mounted);
      expect(`${await lab.s3.sha256('data/out')}  -`).toBe(written);
      expect(`${await lab.s3.sha256('data/in')}  -`).toBe(read);
    },
    BUSY_MS,
  );
});
