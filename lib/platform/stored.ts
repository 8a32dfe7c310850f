import * as z from "zod";

/** A value as read, with the version (ETag) that a write must name. */
export interface Stored<T> {
  readonly value: T;
  readonly version: string;
}

/** A time as `instant` writes it. */
export const storedInstant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** A type with `readonly` at every level, which the outputs of schemas do not have. */
export type Immutable<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : { readonly [K in keyof T]: Immutable<T[K]> };
