import { createHash } from "node:crypto";
import * as z from "zod";
import type { Blobs } from "../azure/blobs.ts";

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

export const contentSchema = z.lazy(() => {
  const file = z.object({ name: z.string(), lines: z.int(), sha256: z.string() });
  return z.object({
    schema: z.literal(formatVersion),
    startedAt: z.string(),
    endedAt: z.string(),
    /** Files with one row in each line. */
    tables: z.record(z.string(), z.array(file).readonly()),
    /** Files with name and hash of one blob in each line. */
    containers: z.record(z.string(), z.array(file).readonly()),
  });
});
export type Content = z.output<typeof contentSchema>;

/** The content of a backup with its hash. Written last, so a backup without a manifest is unfinished. */
export const manifestSchema = z.lazy(() => z.object({ content: z.unknown(), sha256: z.string() }));

export const rowSchema = z.lazy(() =>
  z.object({ partitionKey: z.string(), rowKey: z.string() }).catchall(z.union([z.string(), z.number(), z.boolean()])),
);

export const blobSchema = z.lazy(() => z.object({ name: z.string(), sha256: z.string() }));
export type BlobEntry = z.output<typeof blobSchema>;

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
