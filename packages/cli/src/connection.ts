import { readFile } from 'node:fs/promises';
import { Atoll } from '@atoll/sdk';
import { UsageError } from './errors.ts';

/** What says which daemon is meant. */
export interface ConnectionOptions {
  readonly url?: string | undefined;
  readonly tokenFile?: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The daemon that options and environment name. The token comes from a file or ATOLL_TOKEN: a command line is everyone's to read. */
export async function connect(options: ConnectionOptions, env: Environment): Promise<Atoll> {
  const token = options.tokenFile === undefined ? env['ATOLL_TOKEN'] : await tokenOf(options.tokenFile);
  return new Atoll({ url: options.url ?? env['ATOLL_URL'], token });
}

async function tokenOf(path: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(
      `--token-file: ${(error as Error).message}`,
      'name a file that holds the token and nothing else',
    );
  }
  const token = text.trim();
  if (token === '') throw new UsageError(`--token-file: ${path} is empty`);
  return token;
}
