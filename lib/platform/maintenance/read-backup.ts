import { createHash } from "node:crypto";
import * as z from "zod";
import type { Blobs } from "../azure/blobs.ts";
import type { Entity } from "../azure/tables.ts";
import { Fault } from "../fault.ts";
import type { Instant } from "../time.ts";

/** The container of backups, which Bicep or the local start creates. */
export const backupsContainer = "backups";

/** What a backup of a service contains. */
export interface BackupScope {
  readonly service: "auth" | "connector";
  /** Tables to copy, in this order. Tables that can be computed from these are not copied. */
  readonly tables: readonly string[];
  readonly containers: readonly string[];
}

export const formatVersion = 2;

const contentSchema = z.lazy(() => {
  const files = z.array(z.object({ name: z.string(), lines: z.int(), sha256: z.string() })).readonly();
  return z.object({
    schema: z.literal(formatVersion),
    startedAt: z.string(),
    endedAt: z.string(),
    /** Files with one row in each line. */
    tables: z.record(z.string(), files),
    /** Files with name and hash of one blob in each line. */
    containers: z.record(z.string(), files),
  });
});
export type Content = z.output<typeof contentSchema>;
export type BackupFiles = Content["tables"][string];

/** The content of a backup with its hash. Written last, so a backup without a manifest is unfinished. */
const manifestSchema = z.lazy(() => z.object({ content: z.unknown(), sha256: z.string() }));

export const rowSchema = z.lazy(() =>
  z.object({ partitionKey: z.string(), rowKey: z.string() }).catchall(z.union([z.string(), z.number(), z.boolean()])),
);

const blobSchema = z.lazy(() => z.object({ name: z.string(), sha256: z.string() }));
type BlobEntry = z.output<typeof blobSchema>;

export const manifestName = "manifest.json";
export const blobPath = (container: string, name: string): string => `blobs/${container}/${name}`;

export const contentHash = (written: string | Uint8Array): string => createHash("sha256").update(written).digest("hex");

/** Returns the blobs of all backups of a service by the backup's id, oldest first. */
export async function backupsOf(
  blobs: Blobs,
  service: BackupScope["service"],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = await Array.fromAsync(blobs.list(backupsContainer, `${service}/`));
  return Map.groupBy(names, name => name.split("/")[1] ?? "");
}

export const isFinished = (names: readonly string[]): boolean => names.some(name => name.endsWith(`/${manifestName}`));

/** A finished backup. Every read throws Fault `conflict` if a file is missing or was changed. */
export interface Backup {
  readonly id: string;
  readonly startedAt: Instant;
  /** Yields the rows of a table sorted by their keys. */
  rows(table: string): AsyncGenerator<Entity>;
  /** Yields name and hash of each blob of a container. */
  blobsOf(container: string): AsyncGenerator<BlobEntry>;
  blob(container: string, entry: BlobEntry): Promise<Uint8Array>;
}

/**
 * Opens a finished backup. Throws Fault `not_found` if there is no finished backup with this id, `conflict` if its
 * manifest is damaged or lacks a table or container.
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
    if (found === undefined || contentHash(found) !== sha256) throw damaged(name);
    return found;
  };
  async function* linesOf<T>(of: BackupFiles = [], line: z.ZodType<T>): AsyncGenerator<T> {
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
    id,
    startedAt: files.startedAt as Instant,
    rows: table => linesOf(files.tables[table], rowSchema),
    blobsOf: container => linesOf(files.containers[container], blobSchema),
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
  const { content: written, sha256 } = parsed(manifestName, manifestSchema, Buffer.from(bytes).toString());
  if (contentHash(JSON.stringify(written)) !== sha256) throw damaged(manifestName);
  return parsed(manifestName, contentSchema, JSON.stringify(written));
}

function parsed<T>(name: string, schemaOfLine: z.ZodType<T>, text: string): T {
  try {
    return schemaOfLine.parse(JSON.parse(text));
  } catch {
    throw damaged(name);
  }
}

const damaged = (name: string): Fault => new Fault("conflict", `File ${name} of the backup is missing or was changed.`);
