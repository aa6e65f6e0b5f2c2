import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { until, within } from '../../harness/poll.ts';
import { installedCli } from './installed.ts';

const END_MS = 60_000;

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What it reads; nothing when absent. */
  readonly input?: string | Uint8Array;
  readonly withinMs?: number;
}

/** The installed command, with a daemon to speak to. */
export class Cli {
  readonly command: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(command: string, env: Readonly<Record<string, string>>) {
    this.command = command;
    this.#env = env;
  }

  static async of(url: string, env: Readonly<Record<string, string>> = {}): Promise<Cli> {
    return new Cli(await installedCli(), { ATOLL_URL: url, ...env });
  }

  /** What the environment of a shell needs for the command to be there and to find its daemon. */
  get env(): Readonly<Record<string, string>> {
    return { ...this.#env, PATH: `${this.command.replace(/\/atoll$/, '')}:${process.env['PATH'] ?? ''}` };
  }

  /** Runs it to its end. */
  async run(args: readonly string[], options: CliOptions = {}): Promise<Ended> {
    const running = this.start(args, options);
    return running.ended(options.withinMs);
  }

  /** Runs it, and rejects unless it succeeds. Answers what it printed, less the newline at the end. */
  async ok(args: readonly string[], options: CliOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code !== 0) throw new Error(`atoll ${args.join(' ')}: ${code}: ${stderr}`);
    return stdout.replace(/\n$/, '');
  }

  async json<T>(args: readonly string[]): Promise<T> {
    return JSON.parse(await this.ok(['--json', ...args])) as T;
  }

  start(args: readonly string[], { env = {}, cwd = '/', input }: CliOptions = {}): RunningCli {
    const child = spawn(this.command, [...args], {
      cwd,
      env: { ...process.env, ATOLL_TOKEN: '', ...this.#env, ...env },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    return new RunningCli(child, args.join(' '));
  }
}

/** A command under way. */
export class RunningCli {
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;
  readonly #what: string;
  readonly #end: Promise<number>;

  constructor(child: ChildProcess, what: string) {
    this.#child = child;
    this.#what = what;
    child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.#end = new Promise((resolve) => {
      child.once('close', (code, signal) => resolve(code ?? (signal === null ? -1 : -2)));
    });
  }

  /** Waits for a text on stdout or stderr. */
  async says(text: string, withinMs = END_MS): Promise<void> {
    await until(
      `atoll ${this.#what} says ${text}`,
      () => `${this.stdout}${this.stderr}`.includes(text),
      withinMs,
    );
  }

  /** As the terminal's Ctrl-C, unless told. */
  signal(name: NodeJS.Signals = 'SIGINT'): void {
    this.#child.kill(name);
  }

  async ended(withinMs = END_MS): Promise<Ended> {
    try {
      const code = await within(
        `atoll ${this.#what} ends; it said: ${this.stdout}${this.stderr}`,
        this.#end,
        withinMs,
      );
      return { code, stdout: this.stdout, stderr: this.stderr };
    } catch (error) {
      this.#child.kill('SIGKILL');
      throw error;
    }
  }
}
