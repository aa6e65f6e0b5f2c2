import { UsageError } from '../errors.ts';

type Pairs = Readonly<Record<string, string>>;

/** Collects `key=value` of an option that may be given many times. */
export function keyValue(text: string, earlier: Pairs = {}): Pairs {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`${text} is no pair`, 'write key=value');
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

/** As `keyValue`; a name alone takes this program's own variable, so that no secret has to stand on a command line. */
export function variable(text: string, earlier: Pairs = {}): Pairs {
  if (text.includes('=')) return keyValue(text, earlier);
  const value = process.env[text];
  if (value === undefined)
    throw new UsageError(`the environment has no ${text}`, `write ${text}=value, or set it`);
  return { ...earlier, [text]: value };
}

/** Collects the values of an option that may be given many times. */
export function each(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

/** The variables of a file of `NAME=value` lines; empty lines and those that begin with # are not counted. */
export function variablesOf(text: string): Pairs {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'));
  let found: Pairs = {};
  for (const line of lines) found = keyValue(line.trimStart().replace(/^export\s+/, ''), found);
  return found;
}
