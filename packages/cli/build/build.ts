/** Builds dist/atoll.js: the command in one file, with the libraries it is made of, but for the SDK, which is a package of its own. */
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const TARGET = `${HERE}/dist/atoll.js`;

await rm(`${HERE}/dist`, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: HERE,
  entryPoints: ['src/main.ts'],
  outfile: 'dist/atoll.js',
  bundle: true,
  format: 'esm',
  target: 'node20.12',
  platform: 'node',
  external: ['@atoll/sdk', '@atoll/sdk/*'],
  // Some of the libraries ask for Node's own modules by require.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
  },
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
await chmod(TARGET, 0o755);
await writeFile(`${HERE}/dist/LICENSES.txt`, await licencesOf(Object.keys(metafile.inputs)));

/** The licences of the libraries that these files are of, which ask to go with them. */
async function licencesOf(files: readonly string[]): Promise<string> {
  const folders = files.flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []);
  const texts = [...new Set(folders)].sort().map(async (folder) => {
    const root = `${HERE}/${folder}`;
    const { name, version, license } = JSON.parse(await readFile(`${root}/package.json`, 'utf8')) as Record<
      string,
      string
    >;
    const text = await licenceText(root).catch(() => `${license}\n`);
    return `${name} ${version}\n\n${text}`;
  });
  return (await Promise.all(texts)).join(`\n${'-'.repeat(70)}\n\n`);
}

async function licenceText(root: string): Promise<string> {
  const names = ['LICENSE', 'LICENSE.md', 'license', 'license.md', 'LICENSE.txt'];
  for (const name of names) {
    const text = await readFile(`${root}/${name}`, 'utf8').catch(() => undefined);
    if (text !== undefined) return text;
  }
  throw new Error(`no licence in ${dirname(root)}`);
}
