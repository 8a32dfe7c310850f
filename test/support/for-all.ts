import * as fc from "fast-check";

/** Fails, with the smallest example found, when the statement throws for any value. Synchronous, so there is nothing to await. */
export const forAll = <T>(
  values: fc.Arbitrary<T>,
  statement: (value: T) => void,
  parameters?: fc.Parameters<[T]>,
): void =>
  fc.assert(
    fc.property(values, value => {
      statement(value);
    }),
    parameters,
  );
