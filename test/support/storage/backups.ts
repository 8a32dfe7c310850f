import { createHash } from "node:crypto";
import type { Blobs } from "../../../lib/platform/azure/blobs.ts";
import type { Tables } from "../../../lib/platform/azure/tables.ts";
import { backupsContainer } from "../../../lib/platform/maintenance/read-backup.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** The files of a backup, to be damaged. */
export function filesOf(blobs: Blobs, service: string, id: string) {
  const at = (name: string) => `${service}/${id}/${name}`;
  const read = async (name: string) => Buffer.from((await blobs.get(backupsContainer, at(name))) ?? []);
  const write = (name: string, content: string | Uint8Array) => blobs.put(backupsContainer, at(name), content);
  const writeManifest = async (change: (content: Manifest) => unknown) => {
    const { content } = JSON.parse((await read("manifest.json")).toString());
    const changed = change(content);
    await write("manifest.json", JSON.stringify({ content: changed, sha256: hashOf(JSON.stringify(changed)) }));
  };
  return {
    read,
    write,
    remove: (name: string) => blobs.remove(backupsContainer, at(name)),
    names: (): Promise<readonly string[]> =>
      Array.fromAsync(blobs.list(backupsContainer, at("")), name => name.slice(at("").length)),
    /** Writes a manifest whose hash is right. */
    writeManifest,
    /** Rewrites the rows of a table's first file, as a backup of rows that were like that. */
    async changeRows(table: string, change: (row: Record<string, unknown>) => object): Promise<void> {
      const name = `tables/${table}/000001.jsonl`;
      const rows = (await read(name)).toString().trimEnd().split("\n");
      const text = rows.map(line => `${JSON.stringify(change(JSON.parse(line)))}\n`).join("");
      await write(name, text);
      await writeManifest(content => {
        const [first, ...others] = content.tables[table] ?? [];
        return { ...content, tables: { ...content.tables, [table]: [{ ...first, sha256: hashOf(text) }, ...others] } };
      });
    },
  };
}

/** Copies every backup to another storage account, as an operator does. */
export async function copyBackups(from: Blobs, to: Blobs): Promise<void> {
  await to.createContainer(backupsContainer);
  for await (const name of from.list(backupsContainer, ""))
    await to.put(backupsContainer, name, (await from.get(backupsContainer, name)) ?? "");
}

interface Manifest {
  readonly schema: number;
  readonly tables: Readonly<Record<string, readonly object[]>>;
}

/** Every row and blob that is stored, without what differs at each write or restore. */
export async function dumpOf(
  { tables, blobs }: { readonly tables: Tables; readonly blobs: Blobs },
  names: readonly string[],
  containers: readonly string[] = [],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of names)
    for await (const { etag: _, writtenAt: __, writeId: ___, epoch: ____, by: _____, ...row } of tables
      .table(name)
      .scan())
      found.push(`${name} ${JSON.stringify(row)}`);
  for (const container of containers)
    for await (const name of blobs.list(container, ""))
      found.push(`${container} ${name} ${Buffer.from((await blobs.get(container, name)) ?? []).toString("base64")}`);
  return found;
}

/** Storage of a process that is killed after so many writes: every later call of it fails. */
export function killedAfter<S extends { readonly tables: Tables; readonly blobs: Blobs }>(
  stores: S,
  writes: number,
): S {
  let left = writes;
  const writing = new Set(["insert", "replace", "merge", "mergeExisting", "upsert", "remove", "transact", "put"]);
  const dying = <T extends object>(real: T): T =>
    new Proxy(real, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== "function") return value;
        return (...input: unknown[]) => {
          const isWrite = writing.has(String(name));
          if (left < 0 || (isWrite && --left < 0))
            return isSequence(name) ? killed() : Promise.reject(new Error("killed"));
          return value.apply(target, input);
        };
      },
    });
  const tables: Tables = { ...stores.tables, table: name => dying(stores.tables.table(name)) };
  return { ...stores, tables, blobs: dying(stores.blobs) };
}

const isSequence = (name: string | symbol): boolean => ["scan", "query", "list"].includes(String(name));

// biome-ignore lint/correctness/useYield: it fails at its first value
async function* killed(): AsyncGenerator<never> {
  throw new Error("killed");
}
