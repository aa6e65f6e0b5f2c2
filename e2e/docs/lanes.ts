import type { Block } from './blocks.ts';

// As many as processors that tests count on.
const LANES = 2;

/** Does something with every program: those of a page one after the other, since they use the same names, and two pages at a time. */
export async function lanes(blocks: readonly Block[], work: (block: Block) => Promise<void>): Promise<void> {
  const pages = [...Map.groupBy(blocks, ({ page }) => page).values()];
  const lane = async () => {
    for (let page = pages.shift(); page !== undefined; page = pages.shift())
      for (const block of page) await work(block);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}
