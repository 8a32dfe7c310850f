import { Fault } from "../../fault.ts";
import type { Log } from "../../log.ts";
import type { Blobs } from "../blobs.ts";
import { removeRows } from "../tables/many.ts";
import { readOrLog } from "../tables/row-schema.ts";
import type { Tables } from "../tables/tables.ts";
import type { Backup } from "./backup-files.ts";
import { forEachConcurrently, partitions } from "./rows.ts";

interface Stores {
  readonly tables: Tables;
  readonly blobs: Blobs;
  readonly log: Log;
}

/** What a restore finds in storage, and empties. */
interface Stock {
  readonly tables: readonly string[];
  readonly containers: readonly string[];
}

/**
 * Restores a backup in an order that loses nothing to a damaged one (decision G13): reads all of it first, then empties the tables
 * and containers, then writes. A restore that died is started again with `replace`. Throws Fault `conflict` before anything is
 * removed: where storage has content and nothing may be replaced, where a file is damaged, and where an item cannot be read and
 * none may be skipped.
 * @param steps `verify` reads every item as `write` does and returns how many it could not read; both log those
 */
export async function restore<R>(
  backup: Backup,
  stock: Stock,
  { replace, skip_unreadable: skip }: { readonly replace: boolean; readonly skip_unreadable: boolean },
  steps: { verify(): Promise<number>; write(): Promise<R> },
  stores: Stores,
): Promise<R & { readonly skipped: number }> {
  if (!replace) await requireEmpty(stock, stores);
  const skipped = await steps.verify();
  for (const container of stock.containers)
    await forEachConcurrently(backup.blobsOf(container), async entry => void (await backup.blob(container, entry)));
  stores.log.info("restore_verified", { skipped });
  if (skipped > 0 && !skip) {
    const message = `${skipped} items of the backup cannot be read; the log names them. Send skip_unreadable: true to restore the others.`;
    throw new Fault("conflict", message);
  }
  await empty(stock, stores);
  return { ...(await steps.write()), skipped };
}

async function requireEmpty({ tables: names, containers }: Stock, { tables, blobs }: Stores): Promise<void> {
  for (const name of names) for await (const _ of tables.table(name).scan()) throw notEmpty(`Table ${name}`);
  for (const container of containers)
    for await (const _ of blobs.list(container, "")) throw notEmpty(`Container ${container}`);
}

const notEmpty = (what: string): Fault =>
  new Fault("conflict", `${what} is not empty. Send replace: true to lose what is there.`);

/** As many rows as one transaction removes. */
const atOnce = 100;

async function empty({ tables: names, containers }: Stock, { tables, blobs, log }: Stores): Promise<void> {
  for (const name of names) {
    const table = tables.table(name);
    await forEachConcurrently(partitions(table.scan(), atOnce), async rows => void (await removeRows(table, rows)));
    log.info("restore_emptied", { table: name });
  }
  for (const container of containers)
    for await (const name of blobs.list(container, "")) await blobs.remove(container, name);
}

/** Copies the blobs of a backup back. Returns how many. */
export async function restoreBlobs(
  backup: Backup,
  container: string,
  { blobs }: Pick<Stores, "blobs">,
): Promise<number> {
  let count = 0;
  await forEachConcurrently(backup.blobsOf(container), async entry => {
    await blobs.put(container, entry.name, await backup.blob(container, entry));
    count++;
  });
  return count;
}

/** Works through items of a backup, a few at once. Returns how many cannot be read: each is logged, and passed. */
export async function forEachItem<S, T>(
  source: AsyncIterable<S>,
  read: (from: S) => T | undefined,
  work: (item: T) => Promise<void>,
  log: Log,
): Promise<number> {
  let unreadable = 0;
  await forEachConcurrently(source, async from => {
    const item = await readOrLog(log, () => ({ value: read(from) }));
    if (item === undefined) unreadable++;
    else if (item.value !== undefined) await work(item.value);
  });
  return unreadable;
}
