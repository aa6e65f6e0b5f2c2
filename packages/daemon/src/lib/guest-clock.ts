// A guest's clock may be late by what its setting takes: 1 ms on an idle host, 20 in a guest that was just loaded under
// emulation, whose code is translated anew. Beyond this it is set again.
const CLOCK_MS = 40;
const ATTEMPTS = 4;

/** Has a guest told the time, in nanoseconds since 1970. A clock that was long on its way is told again: on a busy host the first may be late. */
export async function tellTime(tell: (clockUnixNs: bigint) => Promise<void>): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const sent = performance.now();
    await tell(BigInt(Date.now()) * 1_000_000n);
    if (performance.now() - sent < CLOCK_MS) return;
  }
}
