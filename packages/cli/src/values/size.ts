import { UsageError } from '../errors.ts';

const FACTORS: Readonly<Record<string, number>> = { '': 1, m: 1, g: 1024, t: 1024 * 1024 };

/** MiB of `512`, `512M`, `2G` or `1T`; upper or lower case, with or without `iB`. */
export function mib(text: string): number {
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?)\s*([mgt]?)(?:i?b)?$/i.exec(text) ?? [];
  const value = Number(digits) * (FACTORS[unit.toLowerCase()] ?? NaN);
  if (Number.isInteger(value) && value > 0) return value;
  throw new UsageError(`${text} is no size`, 'write 512M, 2G or a number of MiB');
}

/** A whole number of at least `least`. */
export function whole(text: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`${text} is no whole number of at least ${least}`);
}

/** A TCP port. */
export function port(text: string): number {
  const value = whole(text);
  if (value <= 65_535) return value;
  throw new UsageError(`${text} is no port: there are 1 to 65535`);
}
