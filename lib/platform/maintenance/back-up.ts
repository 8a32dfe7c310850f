import type { Blobs } from "../azure/blobs.ts";
import { forEachConcurrently } from "../azure/row-batches.ts";
import { parseRow, readOrLog } from "../azure/row-columns.ts";
import type { Row, Tables } from "../azure/tables.ts";
import type { Log } from "../log.ts";
import { days, instant, type Now, plus } from "../time.ts";
import {
  type BackupFiles,
  type BackupScope,
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

interface BackUpDeps {
  readonly tables: Tables;
  readonly blobs: Blobs;
  /** Another storage account, whose loss does not go with that of the first one. */
  readonly secondBlobs?: Blobs | undefined;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly log: Log;
  readonly keepMs: number;
}

/**
 * Copies rows and blobs into the container of backups while the service runs (decision G13). Rows are read one after
 * another and may contradict each other, so a restore computes again what depends on several rows. Deletes backups
 * older than `keepMs` and unfinished ones. Returns the id of the backup, its counts of rows and blobs, the number of
 * older backups that were removed, and that of the files that were copied to the second place, if there is one.
 */
export async function backUp({ service, tables, containers }: BackupScope, deps: BackUpDeps) {
  const { blobs, secondBlobs, now, random, log } = deps;
  const startedAt = now();
  const id = `${startedAt.replaceAll(":", "-")}-${Buffer.from(random(4)).toString("hex")}`;
  const put: Put = (name, content) => blobs.put(backupsContainer, `${service}/${id}/${name}`, content);
  const content: Content = { schema: formatVersion, startedAt, endedAt: startedAt, tables: {}, containers: {} };
  for (const table of tables) {
    const rows = plainRows(deps.tables.table(table).scan(), log);
    content.tables[table] = await writeLines(put, `tables/${table}`, rows);
    log.info("backup_progress", { backup: id, table, rows: linesIn(content.tables[table]) });
  }
  for (const container of containers)
    content.containers[container] = await writeLines(put, `containers/${container}`, copyBlobs(put, container, blobs));
  content.endedAt = now();
  await put(manifestName, JSON.stringify({ content, sha256: contentHash(JSON.stringify(content)) }));
  // A failure of the second place, or of the removal of older backups, must not hide the id of this one.
  log.info("backup_created", { backup: id });
  const report = {
    backup: id,
    rows: countsOf(content.tables),
    blobs: countsOf(content.containers),
    removed: await removeOld(service, blobs, deps),
  };
  if (secondBlobs === undefined) return report;
  const copied = await copyBackups(service, blobs, secondBlobs);
  await removeOld(service, secondBlobs, deps);
  return { ...report, copied };
}

const linesIn = (files: BackupFiles): number => files.reduce((sum, { lines }) => sum + lines, 0);

const countsOf = (files: Content["tables"]): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(files).map(([name, of]) => [name, linesIn(of)]));

/** Writes a file of the backup. */
type Put = (name: string, content: string | Uint8Array) => Promise<void>;

const maxLinesPerFile = 1000;
/** With a row of at most 1 MiB a file stays far below the limit of one upload. */
const maxCharactersPerFile = 8 * 2 ** 20;

/** Writes values as lines of JSON, at most a thousand in a file. */
async function writeLines(put: Put, folder: string, values: AsyncIterable<object>): Promise<BackupFiles> {
  const files: BackupFiles[number][] = [];
  let lines: string[] = [];
  let size = 0;
  const flush = async () => {
    const text = lines.join("");
    const name = `${folder}/${String(files.length + 1).padStart(6, "0")}.jsonl`;
    await put(name, text);
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

/**
 * Yields the rows as a backup has them. Logs a row with a value that JSON cannot represent, and yields its keys alone,
 * which no restore can read: left out, the row would be missing after a restore without anyone's decision.
 */
async function* plainRows(rows: AsyncIterable<Row>, log: Log): AsyncGenerator<object> {
  for await (const { etag, ...columns } of rows) {
    // Text, numbers and booleans only: any other value would come back as another type.
    const plain = await readOrLog(log, () => parseRow("stored", { ...columns, etag }, rowSchema, columns));
    yield plain ?? { partitionKey: columns.partitionKey, rowKey: columns.rowKey };
  }
}

/** Copies every blob of a container, and yields their names and hashes. */
async function* copyBlobs(put: Put, container: string, blobs: Blobs): AsyncGenerator<object> {
  for await (const name of blobs.list(container, "")) {
    const bytes = await blobs.get(container, name);
    if (bytes === undefined) continue;
    await put(blobPath(container, name), bytes);
    yield { name, sha256: contentHash(bytes) };
  }
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
    const [manifest = "", ...files] = manifestFirst(names);
    await forEachConcurrently(shared(files), copy);
    // The manifest last: a copy that stops half-way does not look whole.
    await copy(manifest);
  }
  return copied;
}

async function* shared<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

/** A backup that is not finished by then has died. */
const unfinishedMs = days(1);

async function removeOld(service: BackupScope["service"], blobs: Blobs, { now, keepMs }: BackUpDeps): Promise<number> {
  let removed = 0;
  for (const [id, names] of await backupsOf(blobs, service)) {
    const startedAt = startOf(id);
    if (startedAt === undefined || plus(startedAt, isFinished(names) ? keepMs : unfinishedMs) > now()) continue;
    // The manifest goes first: a removal that stops half-way leaves no backup that looks whole.
    for (const name of manifestFirst(names)) await blobs.remove(backupsContainer, name);
    removed++;
  }
  return removed;
}

const manifestFirst = (names: readonly string[]): readonly string[] =>
  names.toSorted((one, other) => Number(isFinished([other])) - Number(isFinished([one])));

/** Returns the time at which a backup started, from its id. */
function startOf(id: string) {
  const time = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3}Z)-[0-9a-f]+$/.exec(id);
  return time === null ? undefined : instant(Date.parse(`${time[1]}${time[2]}:${time[3]}:${time[4]}`));
}
