import { Fault } from "../fault.ts";
import type { Table } from "./tables.ts";

/**
 * Makes a write by version, and returns its result also if only the response was lost: the SDK repeats such a write, and its
 * own first attempt makes the condition fail, or the call ends with Fault `unavailable`. Returns undefined after a conflict.
 * Throws the Fault if the write was not made, or if storage does not say.
 * @param write returns undefined if its condition failed
 * @param findOwn reads the row again. Returns undefined if it does not contain this write
 */
export async function confirmWrite<T>(
  write: () => Promise<T | undefined>,
  findOwn: () => Promise<T | undefined>,
): Promise<T | undefined> {
  let written: T | undefined;
  try {
    written = await write();
  } catch (error) {
    if (!(error instanceof Fault && error.kind === "unavailable")) throw error;
    const own = await findOwn().catch(() => undefined);
    if (own === undefined) throw error;
    return own;
  }
  return written ?? findOwn();
}

/** Removes a row in any version. Succeeds also if only the response was lost. Returns false if there was none. */
export const confirmRemoval = async (table: Table, partitionKey: string, rowKey: string): Promise<boolean> =>
  (await confirmWrite<boolean>(
    () => table.remove(partitionKey, rowKey),
    async () => ((await table.get(partitionKey, rowKey)) === undefined ? true : undefined),
  )) === true;
