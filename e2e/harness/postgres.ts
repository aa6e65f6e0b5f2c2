import { execFile } from 'node:child_process';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

// As Debian numbers its user nobody; the server refuses to be root.
const NOBODY = { uid: 65_534, gid: 65_534 };

/** A PostgreSQL server of its own on 127.0.0.1; disposing of it stops it and removes its files. */
export class Postgres implements AsyncDisposable {
  readonly port: number;
  readonly #bin: string;
  readonly #dir: string;

  private constructor(bin: string, dir: string, port: number) {
    this.#bin = bin;
    this.#dir = dir;
    this.port = port;
  }

  static async start(port: number): Promise<Postgres> {
    const bin = await postgresBin();
    const dir = await mkdtemp(join(tmpdir(), 'atoll-postgres-'));
    await chown(dir, NOBODY.uid, NOBODY.gid);
    const options = { ...NOBODY, cwd: dir };
    await run(
      join(bin, 'initdb'),
      ['-D', 'data', '-U', 'tester', '-A', 'trust', '-N', '-E', 'UTF8'],
      options,
    );
    const server = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${dir} -c fsync=off`;
    await run(join(bin, 'pg_ctl'), ['-D', 'data', '-w', '-l', 'log', '-o', server, 'start'], options);
    return new Postgres(bin, dir, port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run(join(this.#bin, 'pg_ctl'), ['-D', 'data', '-m', 'immediate', 'stop'], {
      ...NOBODY,
      cwd: this.#dir,
    });
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** Where the newest installed PostgreSQL has its programs. */
export async function postgresBin(): Promise<string> {
  const versions = (await readdir('/usr/lib/postgresql')).sort((a, b) => Number(b) - Number(a));
  return `/usr/lib/postgresql/${versions[0]}/bin`;
}

/** A tar of psql with every library it needs but the C library, for a guest that has neither. */
export async function psqlBundle(): Promise<Buffer> {
  const psql = join(await postgresBin(), 'psql');
  const { stdout } = await run('ldd', [psql]);
  const libraries = [...stdout.matchAll(/=> (\/\S+)/g)].map(([, path]) => path ?? '');
  const files = [psql, ...libraries.filter((path) => !/\/(libc|libm|ld-linux-x86-64)\.so/.test(path))];
  const tar = await run('tar', ['-chf', '-', '--transform', 's|.*/||', '-P', ...files], {
    encoding: 'buffer',
    maxBuffer: 256 * 1024 * 1024,
  });
  return tar.stdout;
}
