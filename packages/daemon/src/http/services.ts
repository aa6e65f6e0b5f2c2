import type { Service } from '../domain/service.ts';

/** What the routes call. */
export type Services = Service['services'];
