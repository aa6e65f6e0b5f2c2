/** The time as Unix seconds. */
export function nowUnix(): number {
  return Math.floor(Date.now() / 1000);
}
