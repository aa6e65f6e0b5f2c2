import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { run } from '../../lib/run.ts';
import { reasonOf } from '../../lib/errors.ts';
import { assertStandsOn, parentIn } from './layer-base.ts';
import { emptyLayer, readLayerHeader } from '../../lib/qcow2.ts';

const SUFFIX = '.qcow2';

// Each layer costs QEMU an open file and a look-up on the way to a block nobody wrote; beyond this a layer is made to stand on the
// base alone.
const MAX_DEPTH = 8;

// Copying what a chain of layers holds; gigabytes at the most.
const FLATTEN_MS = 10 * 60_000;

/**
 * Frozen disk layers, each standing on another or on the base. A layer stays for as long as someone holds it or a layer above it.
 * Who stands on whom is read from the files themselves, never counted.
 */
export class Layers {
  readonly #dir: string;
  readonly #onFault: (id: string, error: unknown) => void;
  /** By layer: the one it stands on, or undefined for the base. */
  readonly #parents = new Map<string, string | undefined>();
  /** By layer: why it cannot be read, found when the directory was opened. Who needs it is told then. */
  readonly #faults = new Map<string, string>();
  readonly #held = new Map<string, ReadonlySet<string>>();
  readonly #flattening = new Map<string, Promise<void>>();
  #lastFlattening = Promise.resolve();
  readonly #stop = new AbortController();

  private constructor(dir: string, onFault: (id: string, error: unknown) => void) {
    this.#dir = dir;
    this.#onFault = onFault;
  }

  /** Reads the layers of a directory. `onFault` hears of work in the background that failed. */
  static async open(dir: string, onFault: (id: string, error: unknown) => void): Promise<Layers> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const layers = new Layers(dir, onFault);
    for (const name of await readdir(dir)) {
      // Everything else is a flattening that was cut off.
      if (name.endsWith(SUFFIX)) await layers.#find(basename(name, SUFFIX));
      else await rm(join(dir, name), { force: true });
    }
    return layers;
  }

  path(id: string): string {
    return join(this.#dir, id + SUFFIX);
  }

  has(id: string): boolean {
    return this.#parents.has(id);
  }

  /** The layer and all it stands on, top first. Throws when one is missing or cannot be read, and when they go in a circle. */
  chain(id: string): string[] {
    const found: string[] = [];
    for (let at: string | undefined = id; at !== undefined; at = this.#parents.get(at)) {
      if (!this.#parents.has(at)) throw new Error(`layer ${at} is missing`);
      const fault = this.#faults.get(at) ?? (found.includes(at) ? 'it stands on itself' : undefined);
      if (fault !== undefined) throw new Error(`layer ${at}: ${fault}`);
      found.push(at);
    }
    return found;
  }

  /** Rejects when QEMU would read through this layer what is none of its chain: the file may have changed since it was made. */
  async check(id: string): Promise<void> {
    const stoodOn = this.#parents.get(id);
    try {
      const header = await readLayerHeader(this.path(id));
      const parent = parentIn(header);
      await assertStandsOn(header, parent && this.path(parent));
    } catch (error) {
      // One that was let go of meanwhile is not of the chain any more, which was made short.
      if (!this.has(id)) return;
      // What was read is the one before: it was made to stand on the base meanwhile, and what it stood on is gone.
      if (this.#parents.get(id) !== stoodOn) return this.check(id);
      throw new Error(`layer ${id}: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** Keeps layers for a holder, in place of those it held. */
  hold(holder: string, ids: Iterable<string>): void {
    this.#held.set(holder, new Set(ids));
  }

  /** Lets go of what a holder held, and removes the layers that nobody needs then. */
  async drop(holder: string): Promise<void> {
    this.#held.delete(holder);
    await this.sweep();
  }

  /** Makes a file a frozen layer, by `move`, and has the holder keep it. */
  async freeze(id: string, holder: string, move: (path: string) => Promise<void>): Promise<void> {
    const path = this.path(id);
    this.hold(holder, [id]);
    await move(path);
    await chmod(path, 0o400);
    await this.#enter(id);
  }

  /** Undoes a freeze, or as much of it as was done, by `move`. */
  async thaw(id: string, holder: string, move: (path: string) => Promise<void>): Promise<void> {
    this.#parents.delete(id);
    await move(this.path(id));
    await this.drop(holder);
  }

  /** Makes an empty layer on top of a frozen one. */
  async cover(id: string, path: string): Promise<void> {
    const { size } = await readLayerHeader(this.path(id));
    await writeFile(path, emptyLayer(size, this.path(id)), { flag: 'wx', mode: 0o600 });
  }

  /** Bytes of the layers that only this holder keeps. */
  async uniqueBytes(holder: string): Promise<number> {
    const others = this.#needed(holder);
    const own = [...this.#closure(this.#held.get(holder) ?? [])].filter((id) => !others.has(id));
    // One that is gone meanwhile, since a chain was made short, takes no room.
    const sizes = await Promise.all(own.map((id) => stat(this.path(id)).catch(() => ({ blocks: 0 }))));
    return sizes.reduce((sum, { blocks }) => sum + blocks * 512, 0);
  }

  /** Has a layer stand on the base alone when its chain has become long. In the background: nobody waits for that. */
  shorten(id: string): void {
    if (this.chain(id).length <= MAX_DEPTH || this.#flattening.has(id)) return;
    // One at a time: another one would take away layers that this one reads.
    const work = this.#lastFlattening
      .then(() => this.#flatten(id))
      .catch((error: unknown) => {
        if (!this.#stop.signal.aborted) this.#onFault(id, error);
      })
      .finally(() => this.#flattening.delete(id));
    this.#flattening.set(id, work);
    this.#lastFlattening = work;
  }

  /** Removes every layer that nobody needs. */
  async sweep(): Promise<void> {
    const needed = this.#needed();
    const idle = [...this.#parents.keys()].filter((id) => !needed.has(id));
    for (const id of idle) this.#parents.delete(id);
    await Promise.all(idle.map((id) => rm(this.path(id), { force: true })));
  }

  async idle(): Promise<void> {
    await Promise.all(this.#flattening.values());
  }

  /** Gives up work in the background. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the store is closed'));
    await this.idle();
  }

  async #enter(id: string): Promise<void> {
    this.#parents.set(id, parentIn(await readLayerHeader(this.path(id))));
  }

  /** Enters one that was there; a fault of it is its snapshots' alone. */
  async #find(id: string): Promise<void> {
    try {
      await this.#enter(id);
    } catch (error) {
      this.#parents.set(id, undefined);
      this.#faults.set(id, reasonOf(error));
    }
  }

  /**
   * The copy takes the layer's place in one step, and reads the same. Machines that stand on the old one hold the layers under it by
   * name and have them open: those go when they end.
   */
  async #flatten(id: string): Promise<void> {
    // It may have gone, or have become short, since it was asked for.
    if (!this.has(id) || this.chain(id).length <= MAX_DEPTH) return;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(FLATTEN_MS)]);
    const path = this.path(id);
    const draft = join(this.#dir, `${id}.flat`);
    const bottom = this.chain(id).at(-1) ?? id;
    const { backing: base } = await readLayerHeader(this.path(bottom));
    try {
      await run('cp', ['--reflink=auto', path, draft], signal);
      await chmod(draft, 0o600);
      await run('qemu-img', ['rebase', '-q', '-f', 'qcow2', '-F', 'raw', '-b', base, draft], signal);
      await chmod(draft, 0o400);
      if (!this.#parents.has(id)) return;
      await rename(draft, path);
      if (this.#parents.has(id)) this.#parents.set(id, undefined);
      else await rm(path, { force: true });
    } finally {
      await rm(draft, { force: true });
    }
    await this.sweep();
  }

  #needed(except?: string): Set<string> {
    return this.#closure([...this.#held].flatMap(([holder, ids]) => (holder === except ? [] : [...ids])));
  }

  #closure(ids: Iterable<string>): Set<string> {
    const found = new Set<string>();
    for (const id of ids) {
      for (let at: string | undefined = id; at !== undefined && !found.has(at); at = this.#parents.get(at))
        found.add(at);
    }
    return found;
  }
}
