import { expect, test } from 'vitest';
import { LinuxHost, processLimit, tasksOf } from './host.ts';

test('this host has memory and processes left', async () => {
  const host = new LinuxHost();
  expect(await host.availableMemoryBytes()).toBeGreaterThan(1024 * 1024);
  const free = await host.freeProcesses();
  expect(Number.isInteger(free)).toBe(true);
  expect(free).toBeGreaterThan(0);
});

test('the tasks of /proc/loadavg are those there are, not those that run', () => {
  expect(tasksOf('20.68 18.40 17.46 3/1187 12345\n')).toBe(1187);
});

test('the soft limit on processes counts', () => {
  const head = 'Limit                     Soft Limit           Hard Limit           Units\n';
  expect(
    processLimit(`${head}Max processes             96365                96365                processes\n`),
  ).toBe(96_365);
  expect(
    processLimit(`${head}Max processes             unlimited            unlimited            processes\n`),
  ).toBe(Infinity);
});
