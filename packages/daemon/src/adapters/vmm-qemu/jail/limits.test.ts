import { expect, test } from 'vitest';
import { cgroupLimits, resourceLimits } from './limits.ts';

const ALLOWANCE = { memoryOverheadMib: 200, ioBytesPerSecond: 1000 };

test('a cgroup’s limits follow from the machine’s size', () => {
  expect(cgroupLimits({ vcpuCount: 3, memSizeMib: 512 }, ALLOWANCE, '254:0')).toEqual({
    'memory.max': String(712 * 1024 * 1024),
    'memory.swap.max': '0',
    'memory.oom.group': '1',
    'cpu.max': '300000 100000',
    'cpu.weight': '300',
    'pids.max': '99',
    'io.max': '254:0 rbps=3000 wbps=3000',
  });
});

test('no weight is beyond the kernel’s', () => {
  expect(cgroupLimits({ vcpuCount: 256, memSizeMib: 64 }, ALLOWANCE, undefined)['cpu.weight']).toBe('10000');
});

test.each([
  ['no disk is under the files', undefined, ALLOWANCE],
  ['none is asked for', '254:0', { ...ALLOWANCE, ioBytesPerSecond: 0 }],
])('there is no limit on a disk where %s', (_, disk, allowance) => {
  expect(cgroupLimits({ vcpuCount: 1, memSizeMib: 64 }, allowance, disk)).not.toHaveProperty('io.max');
});

test('no file is larger than the largest disk and what qcow2 adds to it', () => {
  const disk = 8n * 1024n ** 3n;
  const size = /^--fsize=(\d+):(\d+)$/m.exec(resourceLimits(disk).join('\n'));
  expect(size?.[1]).toBe(size?.[2]);
  expect(Number(size?.[1])).toBeGreaterThan(Number(disk));
  expect(Number(size?.[1])).toBeLessThan(Number(disk) * 1.02);
  expect(resourceLimits(disk)).toContain('--core=0:0');
});
