import type { Blobs } from "../azure/blobs.ts";
import type { Log } from "../log.ts";
import { parseRow, readOrLog } from "../tables/row-columns.ts";
import type { Row } from "../tables/tables.ts";
import {
  type BackupScope,
  type BlobEntry,
  backupsContainer,
  blobPath,
  type Content,
  contentHash,
  formatVersion,
  manifestName,
  rowSchema,
} from "./backup-files.ts";

const maxLinesPerFile = 1000;
/** With a row of at most 1 MiB a file stays far below the limit of one upload. */
const maxCharactersPerFile = 8 * 2 ** 20;

/** Returns a writer of one backup. Names of its blobs start with service and id. */
export function backupWriter(
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
