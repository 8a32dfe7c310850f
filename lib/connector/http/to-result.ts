/** What became of a promise, for work that goes on either way. */
export const toResult = <T>(promise: Promise<T>): Promise<{ value: T } | { error: unknown }> =>
  promise.then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  );
