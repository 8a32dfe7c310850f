import { createHash } from "node:crypto";
import * as z from "zod";
import { Fault } from "../../fault.ts";
import type { Log } from "../../log.ts";
import type { Blobs } from "../blobs.ts";
import { parseRow, readOrLog } from "../tables/row-schema.ts";
import type { Entity, Row } from "../tables/tables.ts";

/** The container of backups, which Bicep or the local start creates. */
export const backupsContainer = "backups";

export type ServiceName = "auth" | "connector";

/** What a backup of a service contains. */
export interface BackupScope {
  readonly service: ServiceName;
  /** Tables to copy, in this order. Tables that can be computed from these are not copied. */
  readonly tables: readonly string[];
  readonly containers: readonly string[];
}

const schema = 2;

const file = z.object({ name: z.string(), lines: z.int(), sha256: z.string() });

const content = z.object({
  schema: z.literal(schema),
  startedAt: z.string(),
  endedAt: z.string(),
  /** Files with one row in each line. */
  tables: z.record(z.string(), z.array(file).readonly()),
  /** Files with name and hash of one blob in each line. */
  containers: z.record(z.string(), z.array(file).readonly()),
});
type Content = z.output<typeof content>;
export type BackupFile = z.output<typeof file>;

/** The content of a backup with its hash. Written last, so a backup without a manifest is unfinished. */
const manifest = z.object({ content: z.unknown(), sha256: z.string() });

const row = z
  .object({ partitionKey: z.string(), rowKey: z.string() })
  .catchall(z.union([z.string(), z.number(), z.boolean()]));

const blob = z.object({ name: z.string(), sha256: z.string() });
type BlobEntry = z.output<typeof blob>;

const maxLinesPerFile = 1000;
/** With a row of at most 1 MiB a file stays far below the limit of one upload. */
const maxCharactersPerFile = 8 * 2 ** 20;

/** Returns a writer of one backup. Names of its blobs start with service and id. */
export function backupWriter(
  blobs: Blobs,
  { service, id, log }: { readonly service: ServiceName; readonly id: string; readonly log: Log },
) {
  const at = (name: string) => `${service}/${id}/${name}`;

  /** Writes values as lines of JSON, at most a thousand in a file. */
  async function writeLines(folder: string, values: AsyncIterable<object>): Promise<BackupFile[]> {
    const files: BackupFile[] = [];
    let lines: string[] = [];
    let size = 0;
    const flush = async () => {
      const text = lines.join("");
      const name = `${folder}/${String(files.length + 1).padStart(6, "0")}.jsonl`;
      await blobs.put(backupsContainer, at(name), text);
      files.push({ name, lines: lines.length, sha256: hashOf(text) });
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
      yield { name, sha256: hashOf(bytes) };
    }
  }

  return {
    /** Copies rows. Logs and skips a row with a value that JSON cannot represent. */
    rows: (table: string, rows: AsyncIterable<Row>) => writeLines(`tables/${table}`, plainRows(rows, log)),
    /** Copies every blob of a container. */
    container: (container: string) => writeLines(`containers/${container}`, copied(container)),
    finish: (written: Omit<Content, "schema">) => {
      const all = { schema, ...written };
      const text = JSON.stringify({ content: all, sha256: hashOf(JSON.stringify(all)) });
      return blobs.put(backupsContainer, at(manifestName), text);
    },
  };
}

const manifestName = "manifest.json";
const blobPath = (container: string, name: string): string => `blobs/${container}/${name}`;

async function* plainRows(rows: AsyncIterable<Row>, log: Log): AsyncGenerator<object> {
  for await (const { etag, ...columns } of rows) {
    // Text, numbers and booleans only: any other value would come back as another type.
    const plain = await readOrLog(log, () => parseRow("stored", { ...columns, etag }, row, columns));
    if (plain !== undefined) yield plain;
  }
}

/** A finished backup. Every read throws Fault `conflict` if a file is missing or was changed. */
export interface Backup {
  /** Yields the rows of a table sorted by their keys. */
  rows(table: string): AsyncGenerator<Entity>;
  /** Yields name and hash of each blob of a container. */
  blobsOf(container: string): AsyncGenerator<BlobEntry>;
  blob(container: string, entry: BlobEntry): Promise<Uint8Array>;
}

/**
 * Opens a finished backup. Throws Fault `not_found` if there is no finished backup with this id, `conflict` if its manifest is damaged
 * or lacks a table or container.
 */
export async function openBackup(
  blobs: Blobs,
  { service, tables, containers }: BackupScope,
  id: string,
): Promise<Backup> {
  const at = (name: string) => `${service}/${id}/${name}`;
  const bytes = await blobs.get(backupsContainer, at(manifestName));
  if (bytes === undefined) throw new Fault("not_found", `There is no finished backup ${id}.`);
  const files = contentOf(bytes);
  for (const table of tables) if (files.tables[table] === undefined) throw damaged(manifestName);
  for (const container of containers) if (files.containers[container] === undefined) throw damaged(manifestName);

  const read = async (name: string, sha256: string): Promise<Uint8Array> => {
    const found = await blobs.get(backupsContainer, at(name));
    if (found === undefined || hashOf(found) !== sha256) throw damaged(name);
    return found;
  };
  async function* linesOf<T>(of: readonly BackupFile[] = [], line: z.ZodType<T>): AsyncGenerator<T> {
    for (const { name, sha256, lines: count } of of) {
      const lines = Buffer.from(await read(name, sha256))
        .toString()
        .split("\n")
        .slice(0, -1);
      if (lines.length !== count) throw damaged(name);
      for (const text of lines) yield parsed(name, line, text);
    }
  }
  return {
    rows: table => linesOf(files.tables[table], row),
    blobsOf: container => linesOf(files.containers[container], blob),
    blob: (container, { name, sha256 }) => read(blobPath(container, name), sha256),
  };
}

/** Opens a backup in the first of these places that has it. Throws as `openBackup` does. */
export async function findBackup(
  { blobs, secondBlobs }: { readonly blobs: Blobs; readonly secondBlobs?: Blobs | undefined },
  scope: BackupScope,
  id: string,
): Promise<Backup> {
  const found = openBackup(blobs, scope, id);
  if (secondBlobs === undefined) return found;
  return found.catch((error: unknown) => {
    if (error instanceof Fault && error.kind === "not_found") return openBackup(secondBlobs, scope, id);
    throw error;
  });
}

function contentOf(bytes: Uint8Array): Content {
  const { content: written, sha256 } = parsed(manifestName, manifest, Buffer.from(bytes).toString());
  if (hashOf(JSON.stringify(written)) !== sha256) throw damaged(manifestName);
  return parsed(manifestName, content, JSON.stringify(written));
}

function parsed<T>(name: string, schemaOfLine: z.ZodType<T>, text: string): T {
  try {
    return schemaOfLine.parse(JSON.parse(text));
  } catch {
    throw damaged(name);
  }
}

const damaged = (name: string): Fault => new Fault("conflict", `File ${name} of the backup is missing or was changed.`);

const hashOf = (written: string | Uint8Array): string => createHash("sha256").update(written).digest("hex");

/** Returns the blobs of all backups of a service by the backup's id, oldest first. */
export async function backupsOf(blobs: Blobs, service: ServiceName): Promise<ReadonlyMap<string, readonly string[]>> {
  const names: string[] = [];
  for await (const name of blobs.list(backupsContainer, `${service}/`)) names.push(name);
  return Map.groupBy(names, name => name.split("/")[1] ?? "");
}

export const isFinished = (names: readonly string[]): boolean => names.some(name => name.endsWith(`/${manifestName}`));
