/** Something of the daemon's that can be acted on, with the fields that the daemon last told of it. */
export type Handle<T, Info> = T & Readonly<Omit<Info, keyof T>>;

/** Gives a handle its fields. */
export function withFields<T extends object, Info extends object>(handle: T, info: Info): Handle<T, Info> {
  return Object.assign(handle, info);
}
