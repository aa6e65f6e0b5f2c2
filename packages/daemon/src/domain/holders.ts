import type { Registry } from './registry.ts';
import type { Sandbox } from './sandbox.ts';
import type { SnapshotBook } from './snapshot-book.ts';

/** What of a sandbox, or of a snapshot of one, keeps images and drives from others. */
type Holdings = Pick<Sandbox, 'imageId' | 'drives'>;

/** Who holds a drive, as errors and lists show it, and how. */
export interface DriveHolder {
  readonly holder: string;
  readonly readOnly: boolean;
}

/**
 * Who holds images and drives: every sandbox from the start of its boot until nothing of it is left, and every held snapshot. A
 * retired checkpoint holds its image, since its disk stands on it, and no drive.
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
    return this.#all().flatMap(([holder, { imageId }]) => (imageId === id ? [holder] : []));
  }

  ofDrive(id: string): DriveHolder[] {
    return this.#all().flatMap(([holder, { drives }]) =>
      drives.filter((drive) => drive.id === id).map(({ readOnly }) => ({ holder, readOnly })),
    );
  }

  #all(): [holder: string, holdings: Holdings][] {
    return [
      ...this.#registry.present().map((each): [string, Holdings] => [`sandbox ${each.id}`, each]),
      ...this.#book.all().map(({ record }): [string, Holdings] => {
        const { id, imageId, retiredAtUnix } = record;
        return [`snapshot ${id}`, { imageId, drives: retiredAtUnix === undefined ? record.drives : [] }];
      }),
    ];
  }
}
