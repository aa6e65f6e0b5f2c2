/** Who a guest is, as its caller named it. */
export interface GuestIdentity {
  readonly id: string;
  readonly name: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
}

type Value = string | null | { readonly [key: string]: Value };

/** The document that a guest reads about itself. */
export function documentOf({ id, name, tags }: GuestIdentity): Value {
  return { id, name: name ?? null, tags };
}

/** What lies at a path of the document: `/`, `/name`, `/tags/<key>`. Undefined when there is nothing. */
export function valueAt(document: Value, path: string): Value | undefined {
  let value: Value | undefined = document;
  for (const key of path.split('/').filter((part) => part !== '')) {
    const name = decode(key);
    if (name === undefined || value === null || typeof value === 'string') return undefined;
    value = Object.hasOwn(value, name) ? value[name] : undefined;
    if (value === undefined) return undefined;
  }
  return value;
}

/** A value as plain text: a text as it is, of an object the names of its keys, one a line. */
export function asText(value: Value): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : Object.keys(value).join('\n');
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined; // A percent sign that begins no character.
  }
}
