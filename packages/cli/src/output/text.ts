// Everything that is not to be shown as it is: what a sandbox or a name holds must not move the cursor.
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g;

/** A text on one line, without what would control a terminal. */
export function oneLine(text: string): string {
  return text.replace(CONTROL, ' ').trim();
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A number of bytes for people: `1.5 GiB`. */
export function bytes(count: number): string {
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

const STEPS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** How long ago a time in Unix seconds was: `5 min`. */
export function age(unix: number, now = Date.now() / 1000): string {
  const seconds = Math.max(0, Math.floor(now - unix));
  const [size, unit] = STEPS.find(([each]) => seconds >= each) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** `a=1 b=2`. */
export function pairs(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ');
}

/** What of an id tells it from others, for people. */
export function shortId(id: string): string {
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id) ? id.slice(0, 8) : id;
}
