/**
 * How much a test of a large transfer moves: as much as `ATOLL_TEST_TRANSFERS=full` asks for, or usually less, which is still
 * more than may be held anywhere on the way. Under emulation a gibibyte takes both processors a minute.
 */
export function transferSize<Size>(sizes: { readonly full: Size; readonly usual: Size }): Size {
  return process.env.ATOLL_TEST_TRANSFERS === 'full' ? sizes.full : sizes.usual;
}
