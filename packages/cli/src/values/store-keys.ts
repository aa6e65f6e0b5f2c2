import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';

/** The keys of an object store. */
export interface StoreKeys {
  readonly access_key: string;
  readonly secret_key: string;
}

const ACCESS = /^\s*(?:export\s+)?(?:aws_access_key_id|access_key)\s*=\s*(\S+)\s*$/im;
const SECRET = /^\s*(?:export\s+)?(?:aws_secret_access_key|secret_key)\s*=\s*(\S+)\s*$/im;

const HINT = 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or pass --keys-file';

/** The keys, from a file, stdin (`-`) or the environment: a command line is everyone's to read. No error repeats them. */
export async function storeKeys(file: string | undefined, { env, stdin }: Context): Promise<StoreKeys> {
  if (file === undefined)
    return both(env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY'], 'the environment');
  const content = file === '-' ? await text(stdin) : await contentOf(file);
  const json = parsed(content);
  if (json !== undefined) return both(json['access_key'], json['secret_key'], file);
  return both(ACCESS.exec(content)?.[1], SECRET.exec(content)?.[1], file);
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--keys-file: ${(error as Error).message}`);
  }
}

function both(access_key: unknown, secret_key: unknown, where: string): StoreKeys {
  if (
    typeof access_key === 'string' &&
    typeof secret_key === 'string' &&
    access_key !== '' &&
    secret_key !== ''
  )
    return { access_key, secret_key };
  throw new UsageError(`${where} has not both keys of the object store`, HINT);
}

function parsed(content: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
