import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { host } from '../storage/files.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A Python with nothing in it but the SDK, as a wheel built just now, what that asks for, and pytest. */
export class InstalledWheel {
  /** Its interpreter. */
  readonly python: string;

  private constructor(python: string) {
    this.python = python;
  }

  /** Builds the wheel and installs it in an empty venv below the directory. No network is asked. */
  static async install(dir: string): Promise<InstalledWheel> {
    const tools = (await host('bash', join(ROOT, 'host/python-tool.sh'))).trim();
    const python = join(tools, 'venv/bin/python');
    const built = join(dir, 'dist');
    await mkdir(built);
    await host(python, '-m', 'build', '--wheel', '--no-isolation', '--outdir', built, join(ROOT, 'python'));
    const [wheel = ''] = await readdir(built);
    const venv = join(dir, 'venv');
    await host(python, '-m', 'venv', '--without-pip', venv);
    const own = join(venv, 'bin/python');
    const offline = ['--no-index', '--find-links', join(tools, 'wheels'), '--quiet'];
    await host(python, '-m', 'pip', '--python', own, 'install', ...offline, join(built, wheel), 'pytest');
    return new InstalledWheel(own);
  }

  /** The command line of a run of pytest over these files. */
  pytest(...paths: string[]): [file: string, args: string[]] {
    return [this.python, ['-m', 'pytest', '--quiet', '--rootdir', join(ROOT, 'python'), ...paths]];
  }
}
