import type { Sandbox } from '../harness/sandbox.ts';

/** An honest sandbox that is asked all the time, and has so long for each answer. */
export class Neighbour implements AsyncDisposable {
  readonly #sandbox: Sandbox;
  readonly #callMs: number;
  readonly #asking: Promise<void>;
  #stop = false;
  answers = 0;

  constructor(sandbox: Sandbox, callMs: number) {
    this.#sandbox = sandbox;
    this.#callMs = callMs;
    this.#asking = this.#ask();
    this.#asking.catch(() => undefined);
  }

  async #ask(): Promise<void> {
    while (!this.#stop) {
      const signal = AbortSignal.timeout(this.#callMs);
      const { stdout } = await this.#sandbox.exec('echo', ['well'], {}, { signal });
      if (stdout !== 'well\n') throw new Error(`the neighbour said ${stdout}`);
      this.answers += 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop = true;
    await this.#asking;
    await this.#sandbox.destroy();
  }
}
