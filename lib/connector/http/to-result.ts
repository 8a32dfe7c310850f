/** Returns the value or the error of a promise. */
export const toResult = <T>(promise: Promise<T>): Promise<{ value: T } | { error: unknown }> =>
  promise.then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  );
