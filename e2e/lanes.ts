import { relative } from 'node:path';
import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/** What the longest files take, in seconds as measured on two cores without KVM, so that no lane gets most of them. */
const SECONDS: Readonly<Record<string, number>> = {
  'soak/flat': 155,
  'faults/hung': 150,
  'docs/docs': 120,
  'faults/points': 120,
  'faults/stopped': 110,
  'hostile-agent/session': 85,
  'raw-files': 80,
  'python-sdk': 80,
  'cli/cp': 75,
  'fuzz/api': 75,
  'rate-limits-snapshots': 55,
  'soak/random': 50,
  'hostile-agent/files': 40,
  'hostile-agent/connections': 30,
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
