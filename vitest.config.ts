import { defineConfig } from 'vitest/config';

/**
 * unit: pure parts, beside the code. contract: a port's suite against its adapter and its fake (boots real VMs).
 * e2e: a real daemon over plain HTTP. Files of the last two run one at a time: they share two cores with their VMs.
 */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['packages/**/*.test.ts'], testTimeout: 30_000 } },
      {
        test: {
          name: 'contract',
          include: ['packages/**/*.contract.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
