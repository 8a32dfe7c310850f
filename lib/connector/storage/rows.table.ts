import { checkVersion, jsonColumn, parseRow } from "../../platform/tables/row-schema.ts";
import type { Row } from "../../platform/tables/tables.ts";
import type { DueEntry, ListEntry } from "../deps.ts";
import type { Claim } from "../model/idempotency.ts";
import type { CredentialRequest, SecurityKey } from "../model/request.ts";
import type { ShipmentRecord } from "../model/shipment.ts";
import { claimSchema, dueSchema, keySchema, listSchema, requestSchema, shipmentSchema } from "./row-schemas.table.ts";

/** The version of every written row. Readers accept it and the previous one (G12). */
export const schemaVersion = 2;

type Columns = Record<string, string | number | boolean>;

/** Columns with plain text. All others have JSON. */
const requestText = ["id", "origin", "state", "createdAt", "terminalAt", "errorMessage", "claim"];
const keyText = [
  "id",
  "provisioning",
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

function fromColumns(kind: string, row: Row, text: readonly string[]): Record<string, unknown> {
  checkVersion(kind, row, schemaVersion);
  const { partitionKey, rowKey, etag, schema, timestamp, ...columns } = row;
  const values: Record<string, unknown> = {};
  for (const name in columns) values[name] = text.includes(name) ? columns[name] : jsonColumn(kind, row, name);
  return values;
}

export const toRequestColumns = (request: CredentialRequest): Columns => toColumns(request, requestText);

export const fromRequestRow = (row: Row): CredentialRequest =>
  parseRow("request", row, requestSchema, fromColumns("request", row, requestText));

/** Returns the column of a credential. Each has its own, because all together would exceed the size of a column (C18). */
const credentialColumn = (index: number): string => `credential${String(index).padStart(2, "0")}`;

export function toKeyColumns({ credentials, ...key }: SecurityKey): Columns {
  const each = credentials.map((credential, index) => [credentialColumn(index), JSON.stringify(credential)] as const);
  return { ...toColumns(key, keyText), ...Object.fromEntries(each) };
}

export function fromKeyRow(row: Row): SecurityKey {
  const columns = fromColumns("key", row, keyText);
  const credentials: unknown[] = [];
  for (let index = 0; credentialColumn(index) in columns; index++) credentials.push(columns[credentialColumn(index)]);
  return parseRow("key", row, keySchema, { ...columns, credentials });
}

export const toDueColumns = ({
  requestId,
  keyId,
  notBefore,
  peer,
  writtenAt,
  lease,
}: Omit<DueEntry, "queue" | "at">): Columns => ({
  schema: schemaVersion,
  requestId,
  writtenAt,
  ...(lease !== undefined && { lease: JSON.stringify(lease) }),
  ...(keyId === undefined ? {} : { keyId }),
  ...(notBefore === undefined ? {} : { notBefore }),
  ...(peer === undefined ? {} : { peer }),
});

export function fromDueRow(row: Row): DueEntry {
  const { partitionKey: queue, requestId, keyId, writtenAt, notBefore, peer } = row;
  const [at = ""] = row.rowKey.split("_");
  checkVersion("due", row, schemaVersion);
  return parseRow("due", row, dueSchema, {
    queue,
    at,
    requestId,
    writtenAt,
    ...(keyId !== undefined && { keyId }),
    ...(notBefore !== undefined && { notBefore }),
    ...(peer !== undefined && { peer }),
    ...(row.lease !== undefined && { lease: jsonColumn("due", row, "lease") }),
  });
}

export function fromListRow(row: Row): ListEntry {
  checkVersion("list", row, schemaVersion);
  return parseRow("list", row, listSchema, row);
}

export function fromClaimRow(row: Row): Claim {
  checkVersion("claim", row, schemaVersion);
  const { answer } = row;
  const value = answer === undefined ? row : { ...row, answer: jsonColumn("claim", row, "answer") };
  return parseRow("claim", row, claimSchema, value);
}

/** Returns columns named like the fields of version 1. */
export const toShipmentColumns = ({ requestId, state, errorMessage }: ShipmentRecord): Columns => ({
  schema: schemaVersion,
  requestId,
  ...(state !== undefined && { state }),
  ...(errorMessage !== undefined && { error_kind: "GENERAL", error_message: errorMessage }),
});

export function fromShipmentRow(row: Row): ShipmentRecord {
  const { requestId, state, error_message: errorMessage } = row;
  checkVersion("shipment", row, schemaVersion);
  const record = {
    requestId,
    ...(state !== undefined && { state }),
    ...(errorMessage !== undefined && { errorMessage }),
  };
  return parseRow("shipment", row, shipmentSchema, record);
}

/** Returns a shipment id as a row key, which does not allow every character. */
export const shipmentKey = (shipmentId: string): string =>
  /^[A-Za-z0-9_-]{1,200}$/.test(shipmentId) ? shipmentId : `~${Buffer.from(shipmentId).toString("base64url")}`;
