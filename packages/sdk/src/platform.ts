import type * as Local from './local.ts';
import { AtollError } from './errors.ts';

interface Globals {
  readonly process?: {
    readonly env?: Record<string, string | undefined>;
    readonly versions?: { readonly node?: string };
  };
  readonly Bun?: unknown;
  readonly Deno?: unknown;
}

const globals: Globals = globalThis;

/** Whether files and TCP are there: Node, and Bun and Deno, which say that they are Node. */
export function hasLocal(): boolean {
  return typeof globals.process?.versions?.node === 'string';
}

/** Whether this is Node itself. */
export function isNode(): boolean {
  return hasLocal() && globals.Bun === undefined && globals.Deno === undefined;
}

/** A variable of the environment, where there is one that may be read; an empty one counts as absent. */
export function environment(name: string): string | undefined {
  try {
    return globals.process?.env?.[name] || undefined;
  } catch {
    return undefined; // Deno without --allow-env.
  }
}

/** The part that needs files and TCP, loaded when something first does. */
export async function local(what: string): Promise<typeof Local> {
  if (!hasLocal()) throw new AtollError(`${what} needs Node, Bun or Deno`);
  return import('./local.ts');
}
