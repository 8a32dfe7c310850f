import type { Blobs } from "../azure/blobs.ts";
import { forEachConcurrently, partitions, removeRows } from "../azure/row-batches.ts";
import { readOrLog } from "../azure/row-columns.ts";
import type { Tables } from "../azure/tables.ts";
import { transactionSize } from "../azure/transaction.ts";
import { Fault } from "../fault.ts";
import type { Log } from "../log.ts";
import type { Backup } from "./read-backup.ts";

interface Stores {
  readonly tables: Tables;
  readonly blobs: Blobs;
  readonly log: Log;
}

/** The storage that a restore empties and fills. */
interface Target {
  readonly tables: readonly string[];
  readonly containers: readonly string[];
}

/**
 * Restores a backup (G13): reads all of it first, then empties the tables and containers, then writes, so that a
 * damaged backup deletes nothing. After a crash, start it again with `replace`. Throws Fault `conflict` before anything
 * is deleted: if storage is not empty without `replace`, if a file is damaged, or if an item cannot be read without
 * `skip_unreadable`.
 * @param steps `verify` reads every item as `write` does, and returns the number of unreadable items; both log these
 */
export async function restore<R>(
  backup: Backup,
  target: Target,
  { replace, skip_unreadable: skip }: { readonly replace: boolean; readonly skip_unreadable: boolean },
  steps: { verify(): Promise<number>; write(): Promise<R> },
  stores: Stores,
): Promise<R & { readonly skipped: number }> {
  if (!replace) await requireEmpty(target, stores);
  const skipped = await steps.verify();
  for (const container of target.containers)
    await forEachConcurrently(backup.blobsOf(container), async entry => void (await backup.blob(container, entry)));
  stores.log.info("restore_verified", { backup: backup.id, replace, skipped });
  if (skipped > 0 && !skip) {
    const message = `${skipped} items of the backup cannot be read; the log names them. Send skip_unreadable: true to restore the others.`;
    throw new Fault("conflict", message);
  }
  await empty(target, stores);
  return { ...(await steps.write()), skipped };
}

async function requireEmpty({ tables: names, containers }: Target, { tables, blobs }: Stores): Promise<void> {
  for (const name of names) for await (const _ of tables.table(name).scan()) throw notEmpty(`Table ${name}`);
  for (const container of containers)
    for await (const _ of blobs.list(container, "")) throw notEmpty(`Container ${container}`);
}

const notEmpty = (what: string): Fault =>
  new Fault("conflict", `${what} is not empty. Send replace: true to delete its content.`);

async function empty({ tables: names, containers }: Target, { tables, blobs, log }: Stores): Promise<void> {
  for (const name of names) {
    const table = tables.table(name);
    await forEachConcurrently(
      partitions(table.scan(), transactionSize),
      async rows => void (await removeRows(table, rows)),
    );
    log.info("restore_emptied", { table: name });
  }
  for (const container of containers)
    for await (const name of blobs.list(container, "")) await blobs.remove(container, name);
}

/** Writes the blobs of a backup into their container. Returns their number. */
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

/** Processes the items of a backup, several in parallel. Logs and skips unreadable ones, and returns their number. */
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
