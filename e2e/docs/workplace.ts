import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { installedCli } from '../cli/harness/installed.ts';
import { InstalledWheel } from '../python/wheel.ts';
import { isShown } from './blocks.ts';
import type { Block } from './blocks.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

// A create that waits for processors, some of them, and what a pool takes to fill.
const BLOCK_MS = 240_000;

type Env = Readonly<Record<string, string>>;

/** A machine as a reader has it: the SDKs and the command are installed, and nothing of the repository is there. */
export class Workplace implements AsyncDisposable {
  /** Where everything is. The daemon's user may enter it. */
  readonly dir: string;
  readonly #env: Env;
  readonly #python: string;
  readonly #typescript: string[] = [];

  private constructor(dir: string, env: Env, python: string) {
    this.dir = dir;
    this.#env = env;
    this.#python = python;
  }

  static async make(): Promise<Workplace> {
    const dir = await mkdtemp('/var/tmp/atoll-docs-');
    await chmod(dir, 0o755);
    const { python } = await InstalledWheel.install(dir);
    // The TypeScript SDK is installed beside the command.
    const modules = join(await installedCli(), '../..');
    await cp(modules, join(dir, 'node_modules'), { recursive: true, verbatimSymlinks: true });
    await writeFile(join(dir, 'package.json'), '{ "private": true, "type": "module" }\n');
    const own = [dirname(python), join(dir, 'node_modules/.bin'), dirname(process.execPath)];
    // What the repository's packages offer is not what a reader has.
    const others = (process.env['PATH'] ?? '').split(':').filter((each) => !each.startsWith(ROOT));
    const path = [...own, ...others].join(':');
    const home = join(dir, 'home');
    await mkdir(home);
    return new Workplace(dir, { PATH: path, HOME: home, NO_COLOR: '1', LANG: 'C.UTF-8' }, python);
  }

  /** Has curl send a token, as the pages say; undefined takes it away. An error's status then fails it, as nothing else would. */
  async setCurl(token: string | undefined): Promise<void> {
    const lines = [
      'fail-with-body',
      ...(token === undefined ? [] : [`header = "Authorization: Bearer ${token}"`]),
    ];
    await writeFile(join(this.#env['HOME'] ?? '', '.curlrc'), `${lines.join('\n')}\n`, { mode: 0o600 });
  }

  /** Runs a program in an empty folder; one of examples/README.md beside the examples. Rejects when it fails, or prints something else. */
  async run(block: Block, env: Env): Promise<void> {
    const cwd = join(this.dir, `${block.page}-${block.line}`.replaceAll(/[^\w-]+/g, '-'));
    await mkdir(cwd);
    if (block.page.startsWith('examples/')) await cp(join(ROOT, 'examples'), cwd, { recursive: true });
    const [file, args] = await this.#command(block, cwd);
    const { code, stdout, stderr } = await runToEnd(file, args, cwd, { ...this.#env, ...env });
    const told = `it printed:\n${stdout}\nand on stderr:\n${stderr}`;
    if (code !== 0) throw new Error(`${block.page}:${block.line} ended with ${code}; ${told}`);
    if (block.shown !== undefined && !isShown(block.shown, stdout))
      throw new Error(`${block.page}:${block.line} shows:\n${block.shown}\n${told}`);
  }

  async #command({ language, code }: Block, cwd: string): Promise<[file: string, args: string[]]> {
    const name = join(cwd, `.block.${language === 'python' ? 'py' : language}`);
    await writeFile(name, code);
    if (language === 'ts') this.#typescript.push(name);
    if (language === 'ts') return [process.execPath, [name]];
    if (language === 'python') return [this.#python, ['-W', 'error', name]];
    return ['bash', ['-euo', 'pipefail', name]];
  }

  /** What a strict compiler says of the TypeScript programs that were run; empty when they are right. */
  async typeFaults(): Promise<string> {
    const compilerOptions = {
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      module: 'nodenext',
      typeRoots: [join(ROOT, 'node_modules/@types')],
      types: ['node'],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
    };
    const project = join(this.dir, 'tsconfig.json');
    await writeFile(project, JSON.stringify({ compilerOptions, files: this.#typescript }));
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await runToEnd(process.execPath, [compiler, '-p', project], this.dir, this.#env);
    return stdout;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.dir, { recursive: true, force: true });
  }
}

/** Runs a program to its end, and ends what it leaves running. */
async function runToEnd(file: string, args: readonly string[], cwd: string, env: Env) {
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Nothing of it is left.
    }
  };
  const timer = setTimeout(end, BLOCK_MS);
  const closed = once(child, 'close') as Promise<[number | null]>;
  try {
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { code, stdout, stderr };
  } finally {
    clearTimeout(timer);
    end();
  }
}
