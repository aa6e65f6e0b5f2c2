import { readFile } from 'node:fs/promises';
import type { CreateSandbox, EgressPolicy } from '@atoll/sdk';
import type { Command } from 'commander';
import { UsageError } from './errors.ts';
import { each, keyValue, variable, variablesOf } from './values/pairs.ts';
import { mib, whole } from './values/size.ts';

type Pairs = Readonly<Record<string, string>>;

/** What `create` and `run` are told of the sandbox. */
export interface SandboxOptions {
  readonly name?: string;
  readonly tag?: Pairs;
  readonly env?: Pairs;
  readonly envFile?: string;
  readonly cpus?: number;
  readonly memory?: number;
  readonly image?: string;
  readonly drive?: readonly string[];
  readonly offline?: boolean;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly bandwidth?: number;
  readonly ops?: number;
}

export function sandboxOptions(command: Command): Command {
  return command
    .option('-n, --name <name>', 'a name, by which it can be called in place of its id')
    .option('--tag <key=value>', 'a tag; any number of them', keyValue)
    .option(
      '-e, --env <name[=value]>',
      "a variable of every command; a name alone takes this shell's own",
      variable,
    )
    .option('--env-file <file>', 'a file of NAME=value lines')
    .option('-c, --cpus <count>', 'virtual CPUs', (text: string) => whole(text))
    .option('-m, --memory <size>', 'memory: 512M, 2G', mib)
    .option('--image <id>', 'an image to boot from')
    .option('--drive <id[:ro]>', 'a drive to attach, with :ro read-only; any number of them', each)
    .option('--offline', 'reaches nothing but what --allow names')
    .option(
      '--allow <cidr>',
      'reaches these addresses all the same; with --offline; any number of them',
      each,
    )
    .option('--deny <cidr>', 'does not reach these addresses; any number of them', each)
    .option(
      '--bandwidth <bytes>',
      'bytes a second, of each disk and of the network each way',
      (text: string) => whole(text),
    )
    .option('--ops <count>', 'operations a second, likewise', (text: string) => whole(text));
}

/** The body of a create. */
export async function sandboxBody(options: SandboxOptions): Promise<CreateSandbox> {
  const { name, tag, cpus, memory, image, drive } = options;
  const env = await environmentOf(options);
  const egress = egressOf(options);
  const limit = rateLimitOf(options);
  return {
    ...(name === undefined ? {} : { name }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(env === undefined ? {} : { env }),
    ...(cpus === undefined ? {} : { vcpu_count: cpus }),
    ...(memory === undefined ? {} : { mem_size_mib: memory }),
    ...(image === undefined ? {} : { image_id: image }),
    ...(drive === undefined ? {} : { drives: drive.map(driveOf) }),
    ...(egress === undefined ? {} : { egress }),
    ...(limit === undefined ? {} : { rate_limit: limit }),
  };
}

async function environmentOf({ env, envFile }: SandboxOptions): Promise<Pairs | undefined> {
  if (envFile === undefined) return env;
  try {
    return { ...variablesOf(await readFile(envFile, 'utf8')), ...env };
  } catch (error) {
    // A line of the file may be a secret, and is not repeated.
    const reason = error instanceof UsageError ? 'not every line is NAME=value' : (error as Error).message;
    throw new UsageError(`--env-file ${envFile}: ${reason}`);
  }
}

function egressOf({ offline, allow, deny }: SandboxOptions): EgressPolicy | undefined {
  if (offline !== true && allow !== undefined)
    throw new UsageError(
      '--allow does nothing without --offline',
      'without it everything is allowed that --deny does not name',
    );
  if (offline !== true && deny === undefined) return undefined;
  return {
    mode: offline === true ? 'deny_all' : 'allow_all',
    ...(allow === undefined ? {} : { allow_cidrs: [...allow] }),
    ...(deny === undefined ? {} : { deny_cidrs: [...deny] }),
  };
}

function rateLimitOf({ bandwidth, ops }: SandboxOptions) {
  if (bandwidth === undefined && ops === undefined) return undefined;
  return {
    ...(bandwidth === undefined ? {} : { bandwidth_bytes_per_sec: bandwidth }),
    ...(ops === undefined ? {} : { ops_per_sec: ops }),
  };
}

function driveOf(text: string): { id: string; read_only: boolean } {
  const isReadOnly = text.endsWith(':ro');
  return { id: isReadOnly ? text.slice(0, -3) : text, read_only: isReadOnly };
}
