import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { until } from '../../harness/poll.ts';

const run = promisify(execFile);
const SOON_MS = 20_000;

/** A terminal with a shell in it, as people have: tmux, with a server of its own. */
export class Tmux implements AsyncDisposable {
  readonly #socket = `atoll-test-${randomBytes(4).toString('hex')}`;

  readonly #env: Readonly<Record<string, string>>;

  private constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  static async start(
    size: { cols: number; rows: number },
    env: Readonly<Record<string, string>>,
  ): Promise<Tmux> {
    const tmux = new Tmux(env);
    const { cols, rows } = size;
    // A shell that says nothing of its own but a prompt.
    const shell = 'env PS1="ready$ " HISTFILE=/dev/null sh';
    await tmux.#call('-f', '/dev/null', 'new-session', '-d', '-x', String(cols), '-y', String(rows), shell);
    await tmux.shows('ready$');
    return tmux;
  }

  /** Types a line. */
  async type(line: string): Promise<void> {
    await this.keys(line);
    await this.#call('send-keys', 'Enter');
  }

  /** Types what may become a line. */
  async keys(text: string): Promise<void> {
    await this.#call('send-keys', '-l', text);
  }

  /** Presses a key, by tmux's name for it: `C-c`. */
  async press(key: string): Promise<void> {
    await this.#call('send-keys', key);
  }

  async resize(size: { cols: number; rows: number }): Promise<void> {
    await this.#call('resize-window', '-x', String(size.cols), '-y', String(size.rows));
  }

  /** Ends a command of the terminal by SIGTERM, found by its command line. */
  async killCommand(line: string): Promise<void> {
    const { stdout } = await this.#call('display-message', '-p', '#{pane_pid}');
    const { stdout: pids } = await run('pgrep', ['-P', stdout.trim(), '-f', line]);
    for (const pid of pids.trim().split('\n')) process.kill(Number(pid), 'SIGTERM');
  }

  /** What is on the screen, and what was. */
  async screen(): Promise<string> {
    return (await this.#call('capture-pane', '-p', '-J', '-S', '-')).stdout;
  }

  /** Waits for something on the screen. */
  async shows(what: string | RegExp, withinMs = SOON_MS): Promise<void> {
    let screen = '';
    const isThere = async () => {
      screen = await this.screen();
      return typeof what === 'string' ? screen.includes(what) : what.test(screen);
    };
    await until(`the terminal shows ${what}`, isThere, withinMs).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}; it shows:\n${screen}`, { cause: error });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#call('kill-server').catch(() => undefined);
  }

  #call(...args: string[]) {
    return run('tmux', ['-L', this.#socket, ...args], { env: { ...process.env, ...this.#env } });
  }
}
