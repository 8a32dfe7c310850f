import { isDeepStrictEqual } from "node:util";
import { type Fault, isUnavailable } from "../fault.ts";
import type { Log } from "../log.ts";
import { RowError } from "./row-columns.ts";
import type { Table } from "./tables.ts";

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

/** Whether a value equals one that was read, which has no members that are undefined. */
export const isStoredAs = (value: unknown, stored: unknown): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(value)), stored);

/**
 * Removes a row in any version. Succeeds also if only the response was lost. Returns whether the row is gone, also if
 * there was none.
 */
export const confirmRemoval = async (table: Table, partitionKey: string, rowKey: string): Promise<boolean> =>
  (await confirmWrite<boolean>(
    () => table.remove(partitionKey, rowKey),
    async () => ((await table.get(partitionKey, rowKey)) === undefined ? true : undefined),
  )) === true;

/**
 * Runs the rest of a change that is already made: work that readers or clean-up do later if it is missing. If storage
 * is unavailable or a row cannot be read, logs `change_not_finished` or `row_failed` and does not throw: a caller who
 * gets an error repeats the change, the repetition finds nothing to change, and so the change would have no audit
 * event.
 */
export async function finishOrLog(log: Log, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof RowError) log.error("row_failed", { error });
    else if (isUnavailable(error)) log.warn("change_not_finished", { error });
    else throw error;
  }
}
