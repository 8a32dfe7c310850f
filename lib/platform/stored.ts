import * as z from "zod";
import { Fault, isUnavailable } from "./fault.ts";

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

/** Result of work that must be repeated, because another writer changed the row. */
export const conflict = Symbol("conflict");

const maxAttempts = 100;

const tooManyChanges = (): Fault =>
  new Fault("unavailable", "Too many concurrent changes. Repeat the call.", { retryAfterSeconds: 1 });

/**
 * Repeats `work` until it has no conflict. In each conflict one writer succeeds, so only a defect, or a row that very
 * many calls change at once, reaches the limit. Throws the Fault of `exhausted` then, by default `unavailable`.
 */
export async function retryOnConflict<T>(
  work: () => Promise<T | typeof conflict>,
  exhausted: () => Fault = tooManyChanges,
): Promise<T> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const result = await work();
    if (result !== conflict) return result as T;
  }
  throw exhausted();
}

/**
 * Makes a write by version, and returns its result also if only the response was lost: the SDK repeats such a write,
 * and its own first attempt makes the condition fail, or the call ends with Fault `unavailable`. Returns undefined
 * after a conflict. Throws the Fault if the write was not made, or if storage does not say.
 * @param write returns undefined if its condition failed
 * @param findOwn reads the row again. Returns undefined if it does not contain this write
 * @param options with `isRepeated`, a write that was not made is repeated once after the Fault; `onDoubt` is called
 * then before the row is read
 */
export async function confirmWrite<T>(
  write: () => Promise<T | undefined>,
  findOwn: () => Promise<T | undefined>,
  {
    isRepeated = false,
    onDoubt,
  }: { readonly isRepeated?: boolean; readonly onDoubt?: ((error: Fault) => void) | undefined } = {},
): Promise<T | undefined> {
  let written: T | undefined;
  try {
    written = await write();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    onDoubt?.(error);
    const own = await findOwn().catch(() => {
      throw error;
    });
    if (own !== undefined) return own;
    if (!isRepeated) throw error;
    written = await write();
  }
  return written ?? findOwn();
}
