import { expect, test } from 'vitest';
import { machineArgs } from './argv.ts';
import type { GuestSettings } from './argv.ts';

const spec = {
  id: 'i',
  dir: '/state/machines/i',
  rootDisk: '/state/a,b/root.qcow2',
  memory: '/state/a,b/memory',
  vcpuCount: 3,
  memSizeMib: 300,
};
const guest: GuestSettings = { kernel: '/k', initramfs: '/i', accelerator: 'tcg', tscKhz: 2_596_122 };

function valuesOf(args: readonly string[], option: string): string[] {
  return args.flatMap((arg, index) => (arg === option ? [args[index + 1] ?? ''] : []));
}

test('sizes reach the machine and its memory alike', () => {
  const args = machineArgs(spec, guest);
  expect(valuesOf(args, '-smp')).toEqual(['3']);
  expect(valuesOf(args, '-m')).toEqual(['300']);
  expect(valuesOf(args, '-object')[0]).toContain('size=300M');
});

test('a comma in a path does not end the option', () => {
  expect(valuesOf(machineArgs(spec, guest), '-drive')[0]).toContain('file=/state/a,,b/root.qcow2,');
});

test('the clock rate is told to an emulated guest, and only to one', () => {
  expect(valuesOf(machineArgs(spec, guest), '-append')[0]).toContain('tsc_early_khz=2596122 tsc=reliable');
  expect(valuesOf(machineArgs(spec, { ...guest, tscKhz: undefined }), '-append')[0]).not.toContain('tsc');
  const kvm = machineArgs(spec, { ...guest, accelerator: 'kvm' });
  expect(valuesOf(kvm, '-append')[0]).not.toContain('tsc');
  expect(valuesOf(kvm, '-cpu')).toEqual(['host']);
});

test('only an emulated guest has fixed addresses, and keeps what only its boot needs', () => {
  const kvm = machineArgs(spec, { ...guest, accelerator: 'kvm' });
  for (const parameter of [' norandmaps', ' keep_initmem']) {
    expect(valuesOf(machineArgs(spec, guest), '-append')[0]).toContain(parameter);
    expect(valuesOf(kvm, '-append')[0]).not.toContain(parameter);
  }
});

test('memory is a file mapped shared; a frozen one is mapped copy-on-write', () => {
  expect(valuesOf(machineArgs(spec, guest), '-object')[0]).toContain('mem-path=/state/a,,b/memory,share=on');
  expect(valuesOf(machineArgs(spec, guest), '-object')[0]).toContain(',align=2M,');
  const args = machineArgs(spec, guest, { incoming: true, frozenMemory: '/frozen' });
  expect(valuesOf(args, '-object')[0]).toContain('mem-path=/frozen,share=off');
  expect(valuesOf(args, '-incoming')).toEqual(['defer']);
});

test('sockets have short relative names', () => {
  const args = machineArgs(spec, guest).join(' ');
  expect(args).toContain('path=agent.sock');
  expect(args).toContain('path=qmp.sock');
});

test('drives are units of one controller, honour flushes, and are read-only where asked', () => {
  const drives = [
    { path: '/d/a', serial: 'aa', readOnly: false },
    { path: '/d/b', serial: 'bb', readOnly: true },
  ];
  const args = machineArgs({ ...spec, drives, rateLimit: { bandwidthBytesPerSec: 5, opsPerSec: 7 } }, guest);
  const [root, first, second] = valuesOf(args, '-drive');
  const limit = 'throttling.bps-total=5,throttling.iops-total=7';
  expect(root).toContain(limit);
  expect(first).toBe(`id=drive0,file=/d/a,format=raw,if=none,discard=unmap,${limit}`);
  expect(second).toBe(`id=drive1,file=/d/b,format=raw,if=none,read-only=on,${limit}`);
  expect(valuesOf(args, '-device').filter((device) => device.includes('scsi'))).toEqual([
    'virtio-scsi-device,id=drives',
    'scsi-hd,id=unit0,bus=drives.0,scsi-id=0,lun=0,drive=drive0,serial=aa,werror=report,rerror=report',
    'scsi-hd,id=unit1,bus=drives.0,scsi-id=0,lun=1,drive=drive1,serial=bb,werror=report,rerror=report',
  ]);
});

test('without drives there is no controller', () => {
  for (const none of [spec, { ...spec, drives: [] }])
    expect(valuesOf(machineArgs(none, guest), '-device').join(' ')).not.toContain('scsi');
});
