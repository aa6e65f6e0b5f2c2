import { ERRNOS } from '@atoll/contract/errnos';
import { FAILURES } from '@atoll/contract/failures';
import { table } from './document.ts';

/** What stands for an operand of a message: its name, however the message uses it. */
function placeholder(name: string): unknown {
  const text = `<${name}>`;
  return {
    toString: () => text,
    join: () => text,
    map: () => ({ join: () => text }),
    // A number that is counted with.
    valueOf: () => NaN,
    [Symbol.toPrimitive]: (hint: string) => (hint === 'number' ? NaN : text),
  };
}

const OPERANDS = new Proxy({}, { get: (_, name) => placeholder(String(name)) });

function messageOf(code: keyof typeof FAILURES): string {
  const message = FAILURES[code].message as (operands: object) => string;
  return message(OPERANDS)
    .replaceAll('NaN', '<number>')
    .replaceAll(/<(\w+)>/g, '‹$1›');
}

/** The section that lists every code: by status, in the contract's order. */
export function errorCodes(): string[] {
  const codes = Object.keys(FAILURES) as (keyof typeof FAILURES)[];
  const rows = codes.map((code) => {
    const { status, retryable } = FAILURES[code];
    return [`\`${code}\``, String(status), retryable ? 'yes' : 'no', messageOf(code)];
  });
  return [
    '## Error codes\n\nThe body of an error is `{"error": "<message>", "code": "<code>"}`. Retry: whether the same call may succeed later by itself.\n',
    table(['Code', 'Status', 'Retry', 'Message'], rows),
    "What the guest's file system refuses is 400 with the errno's name as its code, and the path in the message. None of these is to be tried again as it is:\n",
    `${ERRNOS.map((errno) => `\`${errno}\``).join(', ')}.\n`,
  ];
}
