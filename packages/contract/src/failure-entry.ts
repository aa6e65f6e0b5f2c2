/** One kind of failure: its HTTP status, whether the same call may succeed later, and its message, written once. */
interface Entry<Operands> {
  readonly status: number;
  readonly retryable: boolean;
  readonly message: (operands: Operands) => string;
}

/** Infers what the message is made of. */
export function entry<Operands>(
  status: number,
  retryable: boolean,
  message: (operands: Operands) => string,
): Entry<Operands> {
  return { status, retryable, message };
}
