import type { DueEntry } from "../connector/ports.ts";
import type { Credential, CredentialRequest, Key } from "../connector/request.ts";
import type { Row } from "./tables.ts";

/** Written into every row; readers take this version and the one before it (decision G12). */
export const schemaVersion = 2;

type Columns = Record<string, string | number | boolean>;

/** Columns that are text as they stand. All others hold JSON. */
const requestText = ["id", "origin", "state", "createdAt", "terminalAt", "errorMessage", "claim"];
const keyText = [
  "id",
  "place",
  "name",
  "customizationId",
  "preferredAuthenticatorType",
  "state",
  "serial",
  "firmware",
  "pinKey",
  "responses",
];

function toColumns(value: object, text: readonly string[]): Columns {
  const columns: Columns = { schema: schemaVersion };
  for (const [name, content] of Object.entries(value)) {
    if (content === undefined) continue;
    columns[name] = text.includes(name) ? String(content) : JSON.stringify(content);
  }
  return columns;
}

function fromColumns(row: Row, text: readonly string[]): Record<string, unknown> {
  const { partitionKey, rowKey, etag, schema, timestamp, ...columns } = row;
  if (typeof schema !== "number" || schema > schemaVersion) {
    throw new Error(
      `row ${partitionKey}/${rowKey} has schema version ${String(schema)}, which this version cannot read`,
    );
  }
  return Object.fromEntries(
    Object.entries(columns).map(([name, content]) => [
      name,
      text.includes(name) ? content : JSON.parse(String(content)),
    ]),
  );
}

export const toRequestColumns = (request: CredentialRequest): Columns => toColumns(request, requestText);

export const fromRequestRow = (row: Row): CredentialRequest =>
  fromColumns(row, requestText) as unknown as CredentialRequest;

/** A credential a column: all of them would outgrow one (decision C18). */
const credentialColumn = (index: number): string => `credential${String(index).padStart(2, "0")}`;

export function toKeyColumns({ credentials, ...key }: Key): Columns {
  const each = credentials.map((credential, index) => [credentialColumn(index), JSON.stringify(credential)] as const);
  return { ...toColumns(key, keyText), ...Object.fromEntries(each) };
}

export function fromKeyRow(row: Row): Key {
  const columns = fromColumns(row, keyText);
  const credentials: Credential[] = [];
  for (let index = 0; credentialColumn(index) in columns; index++) {
    credentials.push(columns[credentialColumn(index)] as Credential);
    delete columns[credentialColumn(index)];
  }
  return { ...columns, credentials } as unknown as Key;
}

export const toDueColumns = ({ requestId, keyId, held, writtenAt }: Omit<DueEntry, "queue" | "at">): Columns => ({
  schema: schemaVersion,
  requestId,
  writtenAt,
  ...(keyId === undefined ? {} : { keyId }),
  ...(held === true ? { held } : {}),
});

export function fromDueRow(row: Row): DueEntry {
  const [at = ""] = row.rowKey.split("_");
  return {
    queue: row.partitionKey as DueEntry["queue"],
    at,
    requestId: String(row.requestId),
    writtenAt: String(row.writtenAt),
    ...(row.keyId === undefined ? {} : { keyId: String(row.keyId) }),
    ...(row.held === true ? { held: true } : {}),
  };
}

/** A shipment id as a key of Table storage, which forbids some characters. */
export const shipmentKey = (shipmentId: string): string =>
  /^[A-Za-z0-9_-]{1,200}$/.test(shipmentId) ? shipmentId : `~${Buffer.from(shipmentId).toString("base64url")}`;
