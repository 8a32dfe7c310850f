import { Fault } from "../../fault.ts";
import type { Log } from "../../log.ts";
import { removeRows } from "../auth-many.ts";
import type { Blobs } from "../blobs.ts";
import type { Tables } from "../tables.ts";
import type { Backup } from "./backup-files.ts";
import { forEachOf, partitions } from "./rows.ts";

interface Stores {
  readonly tables: Tables;
  readonly blobs: Blobs;
  readonly log: Log;
}

/**
 * Makes sure that a restore finds nothing, or empties what it finds. A restore that died is begun again with `replace`.
 * Throws Fault `conflict` that names the first table or container with content where nothing may be replaced.
 */
export async function makeEmpty(
  { tables: names, containers }: { readonly tables: readonly string[]; readonly containers: readonly string[] },
  replace: boolean,
  { tables, blobs, log }: Stores,
): Promise<void> {
  for (const name of names) {
    const table = tables.table(name);
    for await (const _ of table.scan()) {
      if (!replace) throw notEmpty(`Table ${name}`);
      break;
    }
    await forEachOf(partitions(table.scan()), async rows => void (await removeRows(table, rows)));
    log.info("restore_emptied", { table: name });
  }
  for (const container of containers) {
    for await (const name of blobs.list(container, "")) {
      if (!replace) throw notEmpty(`Container ${container}`);
      await blobs.remove(container, name);
    }
  }
}

const notEmpty = (what: string): Fault =>
  new Fault("conflict", `${what} is not empty. Send replace: true to lose what is there.`);

/** Copies the blobs of a backup back. @returns how many */
export async function restoreBlobs(
  backup: Backup,
  containers: readonly string[],
  { blobs }: Pick<Stores, "blobs">,
): Promise<number> {
  let count = 0;
  for (const container of containers) {
    await forEachOf(backup.blobsOf(container), async ({ name, content }) => {
      await blobs.put(container, name, content);
      count++;
    });
  }
  return count;
}
