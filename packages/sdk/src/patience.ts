/** What Node's fetch sends its requests by; its key is part of what undici promises to those who replace it. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/**
 * What makes a runtime's fetch wait for as long as the call says: of itself Node's gives up a call after five minutes without
 * an answer, and Bun's too, which a command may well take.
 */
export function patience(): object {
  const dispatcher = (globalThis as { [DISPATCHER]?: Dispatcher })[DISPATCHER];
  if (dispatcher === undefined) return { timeout: false };
  return {
    dispatcher: {
      dispatch: (options: object, handler: unknown) =>
        dispatcher.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
    },
  };
}
