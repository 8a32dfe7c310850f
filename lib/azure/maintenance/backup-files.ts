import { createHash } from "node:crypto";
import * as z from "zod";
import { Fault } from "../../fault.ts";
import type { Blobs } from "../blobs.ts";
import type { Entity, Row } from "../tables.ts";

/** The container of backups; made by Bicep and by the local start (decision G12). */
export const backupsContainer = "backups";

export type Wing = "auth" | "connector";

const schema = 1;

const file = z.object({ name: z.string(), rows: z.int(), sha256: z.string() });

/** What a backup holds; written last, so that a backup without one is none. */
const manifest = z.object({
  schema: z.literal(schema),
  startedAt: z.string(),
  endedAt: z.string(),
  tables: z.record(z.string(), z.array(file)),
  containers: z.record(z.string(), z.int()),
});
export type Manifest = z.output<typeof manifest>;
export type BackupFile = z.output<typeof file>;

const rowsAFile = 1000;
/** A full row has 1 MiB: a file stays far below what one upload takes. */
const charactersAFile = 8 * 2 ** 20;

/** Writes one backup. Names of blobs begin with wing and id. */
export function backupWriter(blobs: Blobs, wing: Wing, id: string) {
  const at = (name: string) => `${wing}/${id}/${name}`;
  return {
    /** Rows a line each, some thousand lines a file. */
    async rows(table: string, rows: AsyncIterable<Row>): Promise<BackupFile[]> {
      const files: BackupFile[] = [];
      let lines: string[] = [];
      let size = 0;
      const flush = async () => {
        const text = lines.join("");
        const name = `tables/${table}/${String(files.length + 1).padStart(6, "0")}.jsonl`;
        await blobs.put(backupsContainer, at(name), text);
        files.push({ name, rows: lines.length, sha256: hashOf(text) });
        lines = [];
        size = 0;
      };
      for await (const row of rows) {
        const line = `${JSON.stringify(plain(row))}\n`;
        if (lines.length === rowsAFile || size + line.length > charactersAFile) await flush();
        lines.push(line);
        size += line.length;
      }
      if (lines.length > 0) await flush();
      return files;
    },
    /** Copies every blob of a container. @returns how many */
    async container(container: string): Promise<number> {
      let count = 0;
      for await (const name of blobs.list(container, "")) {
        const content = await blobs.get(container, name);
        if (content === undefined) continue;
        await blobs.put(backupsContainer, at(`blobs/${container}/${name}`), content);
        count++;
      }
      return count;
    },
    finish: (content: Omit<Manifest, "schema">) =>
      blobs.put(backupsContainer, at(manifestName), JSON.stringify({ schema, ...content })),
  };
}

const manifestName = "manifest.json";

/** Rows hold text, numbers and yes or no only: whatever else would come back as another type. */
function plain({ etag, ...row }: Row): Entity {
  for (const [column, value] of Object.entries(row))
    if (!["string", "number", "boolean"].includes(typeof value))
      throw new TypeError(`column ${column} holds what a backup can not: ${typeof value}`);
  return row as unknown as Entity;
}

export interface Backup {
  readonly manifest: Manifest;
  /** Rows of a table in the order of their keys; nothing for a table that it does not have. Throws where a file is not as written. */
  rows(table: string): AsyncGenerator<Entity>;
  /** The blobs of a container, by their names there. */
  blobsOf(container: string): AsyncGenerator<{ readonly name: string; readonly content: Uint8Array }>;
}

/** Opens a finished backup. Throws Fault `not_found` where there is none of that id. */
export async function openBackup(blobs: Blobs, wing: Wing, id: string): Promise<Backup> {
  const at = (name: string) => `${wing}/${id}/${name}`;
  const bytes = await blobs.get(backupsContainer, at(manifestName));
  if (bytes === undefined) throw new Fault("not_found", `There is no finished backup ${id}.`);
  const told = manifest.parse(JSON.parse(Buffer.from(bytes).toString()));
  return {
    manifest: told,
    async *rows(table) {
      for (const { name, sha256 } of told.tables[table] ?? []) {
        const content = await blobs.get(backupsContainer, at(name));
        const text = content === undefined ? "" : Buffer.from(content).toString();
        if (hashOf(text) !== sha256)
          throw new Fault("conflict", `File ${name} of the backup is not as it was written.`);
        for (const line of text.split("\n")) if (line !== "") yield JSON.parse(line);
      }
    },
    async *blobsOf(container) {
      const prefix = at(`blobs/${container}/`);
      for await (const name of blobs.list(backupsContainer, prefix)) {
        const content = await blobs.get(backupsContainer, name);
        if (content !== undefined) yield { name: name.slice(prefix.length), content };
      }
    },
  };
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** All blobs of backups of a wing by the backup's id, oldest first. */
export async function backupsOf(blobs: Blobs, wing: Wing): Promise<ReadonlyMap<string, readonly string[]>> {
  const names: string[] = [];
  for await (const name of blobs.list(backupsContainer, `${wing}/`)) names.push(name);
  return Map.groupBy(names, name => name.split("/")[1] ?? "");
}

export const isFinished = (names: readonly string[]): boolean => names.some(name => name.endsWith(`/${manifestName}`));
