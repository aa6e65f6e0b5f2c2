import { defineConfig } from 'vitest/config';
import { Lanes } from './e2e/lanes.ts';
import { patient } from './packages/daemon/src/testing/patience.ts';

/**
 * unit: pure parts, beside the code. contract: a port's suite against its adapter and its fake (boots real VMs).
 * e2e: a real daemon over plain HTTP. nested: what is run in the machine of e2e/nested. Files of the last three run one at a
 * time: they share two cores with their VMs.
 */
// How long `expect.poll` asks again.
const expect = { poll: { timeout: patient(20_000) } };

export default defineConfig({
  test: {
    sequence: { sequencer: Lanes },
    projects: [
      { test: { name: 'unit', include: ['packages/**/*.test.ts'], testTimeout: 30_000, expect } },
      {
        test: {
          name: 'contract',
          include: ['packages/**/*.contract.ts'],
          fileParallelism: false,
          expect,
          testTimeout: patient(60_000),
          hookTimeout: patient(120_000),
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          fileParallelism: false,
          expect,
          testTimeout: patient(120_000),
          hookTimeout: patient(180_000),
        },
      },
      {
        test: {
          name: 'nested',
          include: ['e2e/nested/*.nested.ts', 'packages/daemon/src/testing/real.contract.ts'],
          fileParallelism: false,
          expect,
          testTimeout: patient(60_000),
          hookTimeout: patient(120_000),
        },
      },
    ],
  },
});
