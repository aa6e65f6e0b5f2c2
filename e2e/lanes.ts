import { relative } from 'node:path';
import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/** What the longest files take, in seconds as measured on two cores without KVM, so that no lane gets most of them. */
const SECONDS: Readonly<Record<string, number>> = {
  'soak/flat': 155,
  'faults/hung': 150,
  'faults/points': 120,
  'docs/docs': 120,
  'faults/stopped': 110,
  'hostile-agent/session': 80,
  'python-sdk': 80,
  'fuzz/api': 75,
  restart: 65,
  'faults/host': 60,
  drives: 55,
  snapshots: 55,
  'rate-limits-snapshots': 55,
  'soak/random': 50,
  'guest-network': 50,
  lifecycle: 50,
  'cli/cp': 45,
  pools: 45,
  sandboxes: 40,
  archive: 40,
  pty: 40,
  'preview-large': 40,
  'raw-files': 35,
  'corrupted-snapshots': 35,
  folders: 35,
  'exec-stream': 35,
  preview: 30,
  'rate-limits': 30,
  clones: 30,
  'preview-ways': 30,
  tunnel: 25,
};
/** And what any other takes, on average. */
const OTHER_SECONDS = 12;

/** Deals test files to lanes (`--shard=LANE/LANES`): the longest first, each to the lane that has the least to do. */
export class Lanes extends BaseSequencer {
  override shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { index, count } = this.ctx.config.shard ?? { index: 1, count: 1 };
    const lanes = Array.from({ length: count }, () => ({ seconds: 0, files: [] as TestSpecification[] }));
    const dealt = files
      .map((file) => ({ file, name: this.#nameOf(file) }))
      .map(({ file, name }) => ({ file, name, seconds: SECONDS[name] ?? OTHER_SECONDS }))
      .sort((a, b) => b.seconds - a.seconds || (a.name < b.name ? -1 : 1));
    for (const { file, seconds } of dealt) {
      const lane = lanes.reduce((least, other) => (other.seconds < least.seconds ? other : least));
      lane.seconds += seconds;
      lane.files.push(file);
    }
    return Promise.resolve(lanes[index - 1]?.files ?? []);
  }

  #nameOf(file: TestSpecification): string {
    return relative(`${this.ctx.config.root}/e2e`, file.moduleId).replace(/\.test\.ts$/, '');
  }
}
