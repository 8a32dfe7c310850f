import type { Blobs } from "../azure/blobs.ts";
import type { Log } from "../log.ts";
import type { Tables } from "../tables/tables.ts";
import { days, instant, type Now, plus } from "../time.ts";
import { type BackupScope, backupsContainer, backupsOf, type Content, isFinished } from "./backup-files.ts";
import { forEachConcurrently } from "./row-streams.ts";
import { backupWriter } from "./write-backup.ts";

interface BackUpReport {
  /** What `restore` asks for. */
  readonly backup: string;
  readonly rows: Readonly<Record<string, number>>;
  readonly blobs: Readonly<Record<string, number>>;
  /** Older backups that were removed. */
  readonly removed: number;
  /**
   * Files that were copied to the second place, where there is one: of this backup, and of older ones that it lacked.
   */
  readonly copied?: number;
}

/**
 * Copies rows and blobs into the container of backups while the service runs (decision G13). Rows are read one after
 * another and may contradict each other, so a restore computes again what depends on several rows. Deletes backups
 * older than `keepMs` and unfinished ones.
 */
export async function backUp(
  { service, tables: names, containers }: BackupScope,
  deps: {
    readonly tables: Tables;
    readonly blobs: Blobs;
    /** Another storage account, whose loss does not go with that of the first one. */
    readonly secondBlobs?: Blobs | undefined;
    readonly now: Now;
    readonly random: (bytes: number) => Uint8Array;
    readonly log: Log;
    readonly keepMs: number;
  },
): Promise<BackUpReport> {
  const { tables, blobs, now, random, log } = deps;
  const startedAt = now();
  const id = `${startedAt.replaceAll(":", "-")}-${Buffer.from(random(4)).toString("hex")}`;
  const writer = backupWriter(blobs, { service, id, log });
  const files: Content["tables"] = {};
  for (const name of names) {
    files[name] = await writer.rows(name, tables.table(name).scan());
    log.info("backup_progress", { backup: id, table: name, rows: linesIn(files[name]) });
  }
  const copied: Content["containers"] = {};
  for (const container of containers) copied[container] = await writer.container(container);
  await writer.finish({ startedAt, endedAt: now(), tables: files, containers: copied });
  // A failure of the second place, or of the removal of older backups, must not hide the id of this one.
  log.info("backup_created", { backup: id });
  const report = {
    backup: id,
    rows: countsOf(files),
    blobs: countsOf(copied),
    removed: await removeOld(service, deps),
  };
  const { secondBlobs: second } = deps;
  if (second === undefined) return report;
  const fileCount = await copyBackups(service, blobs, second);
  await removeOld(service, { ...deps, blobs: second });
  return { ...report, copied: fileCount };
}

/**
 * Copies every finished backup that the second place lacks, also those of earlier runs that could not copy theirs.
 * Newest first, so that an old one that cannot be copied does not prevent it. Returns the number of files.
 */
async function copyBackups(service: BackupScope["service"], from: Blobs, to: Blobs): Promise<number> {
  const [own, copies] = [await backupsOf(from, service), await backupsOf(to, service)];
  let copied = 0;
  const copy = async (name: string) => {
    const content = await from.get(backupsContainer, name);
    if (content === undefined) return;
    await to.put(backupsContainer, name, content);
    copied += 1;
  };
  for (const [id, names] of [...own].reverse()) {
    if (!isFinished(names) || isFinished(copies.get(id) ?? [])) continue;
    const [manifest = "", ...files] = [...names].sort(manifestFirst);
    await forEachConcurrently(shared(files), copy);
    // The manifest last: a copy that stops half-way does not look whole.
    await copy(manifest);
  }
  return copied;
}

async function* shared<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

const linesIn = (files: Content["tables"][string]): number => files.reduce((sum, { lines }) => sum + lines, 0);

const countsOf = (files: Content["tables"]): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(files).map(([name, of]) => [name, linesIn(of)]));

/** A backup that is not finished by then has died. */
const unfinishedMs = days(1);

async function removeOld(
  service: BackupScope["service"],
  { blobs, now, keepMs }: { readonly blobs: Blobs; readonly now: Now; readonly keepMs: number },
): Promise<number> {
  let removed = 0;
  for (const [id, names] of await backupsOf(blobs, service)) {
    const startedAt = startOf(id);
    if (startedAt === undefined) continue;
    const ends = plus(startedAt, isFinished(names) ? keepMs : unfinishedMs);
    if (ends > now()) continue;
    // The manifest goes first: a removal that stops half-way leaves no backup that looks whole.
    for (const name of [...names].sort(manifestFirst)) await blobs.remove(backupsContainer, name);
    removed++;
  }
  return removed;
}

const manifestFirst = (one: string, other: string): number => Number(isFinished([other])) - Number(isFinished([one]));

/** Returns the time at which a backup started, from its id. */
function startOf(id: string) {
  const time = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3}Z)-[0-9a-f]+$/.exec(id);
  return time === null ? undefined : instant(Date.parse(`${time[1]}${time[2]}:${time[3]}:${time[4]}`));
}
