import type { Registry } from './registry.ts';
import type { Sandbox } from './sandbox.ts';

/** What of a sandbox, or of a snapshot of one, keeps images from being removed. */
type Holdings = Pick<Sandbox, 'imageId'>;

/** Who holds images: every sandbox from the start of its boot until nothing of it is left. */
export class Holders {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Names those that boot from an image, as errors and lists show them. */
  ofImage(id: string): string[] {
    return this.#all().flatMap(([name, { imageId }]) => (imageId === id ? [name] : []));
  }

  #all(): [name: string, holdings: Holdings][] {
    return this.#registry.present().map((sandbox) => [`sandbox ${sandbox.id}`, sandbox]);
  }
}
