import type { TableEntity } from "@azure/data-tables";

/** What a property of a row can be. There is no `null`: what is absent is left out. */
export type Value = string | number | boolean | Date;

/** A row to write: its two keys and its properties. Those that are undefined are left out. */
export type Entity = {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly [property: string]: Value | undefined;
};

/** A row as read, with the version that a write must name. */
export type Row = Readonly<Record<string, unknown>> & {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly etag: string;
};

const forbidden = /[/\\#?\p{Cc}]/u;

/** Whether a row can have such a key: what no row can have is found nowhere, instead of being an error of storage. */
export const isKey = (key: string): boolean => key.length <= 512 && !forbidden.test(key) && key.isWellFormed();

/**
 * A row in the SDK's form. Throws a `TypeError` naming the property where Table storage cannot hold the value; its
 * emulator would take several of these.
 */
export function toEntity({ partitionKey, rowKey, ...properties }: Entity): TableEntity {
  if (!isKey(partitionKey)) throw new TypeError("partitionKey cannot be a key in Table storage");
  if (!isKey(rowKey)) throw new TypeError("rowKey cannot be a key in Table storage");
  const entity: TableEntity = { partitionKey, rowKey };
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || name === "etag") continue;
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,254}$/.test(name)) throw new TypeError(`"${name}" cannot name a property`);
    entity[name] = toProperty(name, value);
  }
  return entity;
}

function toProperty(name: string, value: Value): unknown {
  const problem = (reason: string) => new TypeError(`Property "${name}": ${reason}`);
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      if (value.length > 32_768) throw problem("more than 32,768 UTF-16 units, belongs into a blob (decision C18)");
      if (!value.isWellFormed()) throw problem("ill-formed Unicode");
      return value;
    case "number":
      if (!Number.isFinite(value)) throw problem("no finite number");
      if (Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value;
      // Without a type the service takes whole numbers for 32 bits, too few for milliseconds since 1970.
      if (Number.isSafeInteger(value)) return { type: "Int64", value: String(value) };
      return { type: "Double", value };
    default:
      if (!(value instanceof Date)) throw problem("neither string, number, boolean nor Date");
      if (!(value.getTime() >= Date.UTC(1601, 0))) throw problem("no date, or one before 1601");
      return value;
  }
}

/** A row from the SDK's form: without the protocol's own fields, whole numbers of 64 bits as numbers where exact. */
export function toRow(entity: object): Row {
  const row: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(entity)) {
    if (name.startsWith("odata.") || name === "timestamp" || value === null) continue;
    row[name] = typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  return row as Row;
}
