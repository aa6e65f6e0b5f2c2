const factor = Number(process.env['ATOLL_TEST_PATIENCE'] ?? '1');
if (!(factor >= 1)) throw new Error('ATOLL_TEST_PATIENCE: takes a number from 1');

/** A deadline of a test, in milliseconds, on this host: `ATOLL_TEST_PATIENCE` says how many times as long as usual tests wait. */
export function patient(ms: number): number {
  return ms * factor;
}
