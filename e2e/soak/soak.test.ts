import { expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { soak } from './soak.ts';

// The whole of it, 500 cycles and 200 clones, is e2e/soak/run.ts.
it('30 cycles of busy sandboxes and 8 clones go without a failure', { timeout: 600_000 }, async () => {
  await using daemon = await Daemon.start();
  const figures = await soak(daemon.client, { cycles: 30, sandboxes: 2, clones: 8 });
  expect(figures.resumes).toHaveLength(30);
  await daemon.stop();
});
