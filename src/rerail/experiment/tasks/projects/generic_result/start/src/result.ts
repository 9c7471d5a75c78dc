/** What came of something that may fail. Look at `ok` first. */
export type Result<T, E> = { ok: true; value: T } | { ok: false; error: E };

/** A success. */
export function success<T>(value: T): { ok: true; value: T } {
  return { ok: true, value };
}

/** A failure. */
export function failure<E>(error: E): { ok: false; error: E } {
  return { ok: false, error };
}
