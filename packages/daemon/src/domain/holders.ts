import type { Registry } from './registry.ts';
import type { Sandbox } from './sandbox.ts';
import type { SnapshotBook } from './snapshot-book.ts';

/** What of a sandbox, or of a snapshot of one, keeps images from being removed. */
type Holdings = Pick<Sandbox, 'imageId'>;

/**
 * Who holds images: every sandbox from the start of its boot until nothing of it is left, and every snapshot, held or retired,
 * since its disk stands on them.
 */
export class Holders {
  readonly #registry: Registry;
  readonly #book: SnapshotBook;

  constructor(registry: Registry, book: SnapshotBook) {
    this.#registry = registry;
    this.#book = book;
  }

  /** Names those that boot from an image, as errors and lists show them. */
  ofImage(id: string): string[] {
    return this.#all().flatMap(([name, { imageId }]) => (imageId === id ? [name] : []));
  }

  #all(): [name: string, holdings: Holdings][] {
    return [
      ...this.#registry.present().map((each): [string, Holdings] => [`sandbox ${each.id}`, each]),
      ...this.#book.all().map(({ record }): [string, Holdings] => [`snapshot ${record.id}`, record]),
    ];
  }
}
