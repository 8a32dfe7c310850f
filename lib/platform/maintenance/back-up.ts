import type { Blobs } from "../azure/blobs.ts";
import type { Log } from "../log.ts";
import { forEachConcurrently } from "../tables/row-batches.ts";
import { parseRow, readOrLog } from "../tables/row-columns.ts";
import type { Row, Tables } from "../tables/tables.ts";
import { days, instant, type Now, plus } from "../time.ts";
import {
  type BackupScope,
  type BlobEntry,
  backupsContainer,
  backupsOf,
  blobPath,
  type Content,
  contentHash,
  formatVersion,
  isFinished,
  manifestName,
  rowSchema,
} from "./read-backup.ts";

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

const maxLinesPerFile = 1000;
/** With a row of at most 1 MiB a file stays far below the limit of one upload. */
const maxCharactersPerFile = 8 * 2 ** 20;

/** Returns a writer of one backup. Names of its blobs start with service and id. */
function backupWriter(
  blobs: Blobs,
  { service, id, log }: { readonly service: BackupScope["service"]; readonly id: string; readonly log: Log },
) {
  const at = (name: string) => `${service}/${id}/${name}`;

  /** Writes values as lines of JSON, at most a thousand in a file. */
  async function writeLines(folder: string, values: AsyncIterable<object>): Promise<Content["tables"][string]> {
    const files: Content["tables"][string][number][] = [];
    let lines: string[] = [];
    let size = 0;
    const flush = async () => {
      const text = lines.join("");
      const name = `${folder}/${String(files.length + 1).padStart(6, "0")}.jsonl`;
      await blobs.put(backupsContainer, at(name), text);
      files.push({ name, lines: lines.length, sha256: contentHash(text) });
      lines = [];
      size = 0;
    };
    for await (const value of values) {
      const line = `${JSON.stringify(value)}\n`;
      if (lines.length === maxLinesPerFile || size + line.length > maxCharactersPerFile) await flush();
      lines.push(line);
      size += line.length;
    }
    if (lines.length > 0) await flush();
    return files;
  }

  async function* copied(container: string): AsyncGenerator<BlobEntry> {
    for await (const name of blobs.list(container, "")) {
      const bytes = await blobs.get(container, name);
      if (bytes === undefined) continue;
      await blobs.put(backupsContainer, at(blobPath(container, name)), bytes);
      yield { name, sha256: contentHash(bytes) };
    }
  }

  return {
    /**
     * Copies rows. Logs a row with a value that JSON cannot represent, and writes its keys alone, which no restore can
     * read.
     */
    rows: (table: string, rows: AsyncIterable<Row>) => writeLines(`tables/${table}`, plainRows(rows, log)),
    /** Copies every blob of a container. */
    container: (container: string) => writeLines(`containers/${container}`, copied(container)),
    finish: (written: Omit<Content, "schema">) => {
      const all = { schema: formatVersion, ...written };
      const text = JSON.stringify({ content: all, sha256: contentHash(JSON.stringify(all)) });
      return blobs.put(backupsContainer, at(manifestName), text);
    },
  };
}

async function* plainRows(rows: AsyncIterable<Row>, log: Log): AsyncGenerator<object> {
  for await (const { etag, ...columns } of rows) {
    // Text, numbers and booleans only: any other value would come back as another type.
    const plain = await readOrLog(log, () => parseRow("stored", { ...columns, etag }, rowSchema, columns));
    // Left out, the row would be missing after a restore without anyone's decision.
    yield plain ?? { partitionKey: columns.partitionKey, rowKey: columns.rowKey };
  }
}
