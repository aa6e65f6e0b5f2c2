import { AsyncLocalStorage } from 'node:async_hooks';

/** What every log line of a request's work carries, however deep it is written. */
export interface RequestContext {
  readonly request_id: string;
}

/** Follows a request through its asynchronous work. */
export class RequestScope {
  readonly #storage = new AsyncLocalStorage<RequestContext>();

  run(context: RequestContext, work: () => void): void {
    this.#storage.run(context, work);
  }

  /** The context of the request being served, or nothing outside of any. */
  current(): RequestContext | object {
    return this.#storage.getStore() ?? {};
  }
}
