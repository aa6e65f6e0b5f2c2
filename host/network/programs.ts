import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fault, sound } from './finding.ts';
import type { Finding } from './finding.ts';

const execute = promisify(execFile);

// What the daemon runs beside the tools of its network, and the Debian package of each.
const PROGRAMS = {
  'qemu-system-x86_64': 'qemu-system-x86',
  'qemu-img': 'qemu-utils',
  setpriv: 'util-linux',
  sysctl: 'procps',
} as const;

export function checkPrograms(): Promise<Finding[]> {
  return Promise.all(
    Object.entries(PROGRAMS).map(async ([program, debianPackage]) => {
      try {
        const { stdout } = await execute(program, ['--version']);
        return sound(program, stdout.split('\n')[0] ?? '');
      } catch {
        return fault(program, 'is missing', [
          'apt-get',
          'install',
          '--yes',
          '--no-install-recommends',
          debianPackage,
        ]);
      }
    }),
  );
}
