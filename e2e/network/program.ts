import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

const CALL_MS = 60_000;
const COMPLAINT_CHARACTERS = 2000;

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A program that answers JSON lines: `{id, method, params}` with `{id, result}` or `{id, error}`; it says id 0 when it is up. */
export class Program implements AsyncDisposable {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  #complaint = '';
  #ended = false;
  #lastId = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid ?? -1;
    this.#exited = new Promise((resolve) => {
      child.once('close', () => {
        this.#ended = true;
        for (const { reject } of this.#waiting.values()) reject(this.#lost());
        resolve();
      });
    });
    child.stdin?.on('error', () => undefined);
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#complaint = (this.#complaint + chunk.toString()).slice(-COMPLAINT_CHARACTERS);
    });
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.#take(line));
  }

  /** Answers when the program is up. */
  static async start(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Program> {
    const [file = '', ...args] = argv;
    const program = new Program(spawn(file, args, { env, stdio: ['pipe', 'pipe', 'pipe'] }));
    await program.#reply(0);
    return program;
  }

  /** What the program wrote to its standard error, the end of it. */
  get complaint(): string {
    return this.#complaint;
  }

  call(method: string, params: object = {}): Promise<unknown> {
    const id = (this.#lastId += 1);
    const reply = this.#reply(id);
    this.#child.stdin?.write(`${JSON.stringify({ id, method, params })}\n`);
    return reply;
  }

  /** Ends it without giving it a chance to clear up. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5000);
    await this.#exited;
    clearTimeout(timer);
  }

  #reply(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended) reject(this.#lost());
      const timer = setTimeout(() => reject(new Error(`no answer: ${this.#complaint}`)), CALL_MS);
      const settle = () => {
        clearTimeout(timer);
        this.#waiting.delete(id);
      };
      this.#waiting.set(id, {
        resolve: (result) => {
          settle();
          resolve(result);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
    });
  }

  #take(line: string): void {
    const { id, result, error } = JSON.parse(line) as Reply;
    const waiting = this.#waiting.get(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error));
  }

  #lost(): Error {
    return new Error(`the program ended: ${this.#complaint}`);
  }
}
