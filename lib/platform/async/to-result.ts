/** The value with which work ended, or its error. */
export type Result<T> = { readonly value: T } | { readonly error: unknown };

/** Returns the value or the error of a promise. */
export const toResult = <T>(promise: Promise<T>): Promise<Result<T>> =>
  promise.then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  );
