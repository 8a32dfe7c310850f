import { createHash } from "node:crypto";
import { type AttributeHead, noAttributes } from "../../../auth/model/attributes.ts";
import type { Session } from "../../../auth/model/session.ts";
import { noFailures, type Throttle } from "../../../auth/model/throttle.ts";
import type { AssignedKey, Attributes, OtpKey, Stored, User } from "../../../auth/store.ts";
import type { Instant } from "../../../time.ts";
import { checkVersion, jsonColumn, parseRow, storedInstant } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import {
  headSchema,
  idSchema,
  keySchema,
  sessionSchema,
  textSchema,
  throttleSchema,
  userSchema,
} from "./row-schemas.ts";
import type { AuthTables } from "./tables.ts";

/** Version of the layout, written into every row. Readers accept this version and the previous one (G12). */
export const schemaVersion = 1;

/** Returns a random value for the column `writeId`, by which a write whose response was lost is recognised. */
export const newWriteId = ({ random }: Pick<AuthTables, "random">): string =>
  Buffer.from(random(12)).toString("base64url");

type Columns = Record<string, string | number | boolean | undefined>;

export const userRow = "user";
export const throttleRow = "throttle";
/** The time of a user's last sign-in. Sorts between assignments and throttle, in the range of a sign-in state. */
export const loginRow = "login";
export const headRow = "attributes";
export const attributePrefix = "attr:";
/** Prefix of the row key of an assignment in the user's partition. */
export const assignedPrefix = "key:";
export const keyRow = "key";
/** Prefix of the row key of an assignment's index row in the OTP key's partition. */
export const holderPrefix = "user:";

/** Returns an id as text that sorts by number. */
export const idKey = (id: number): string => String(id).padStart(16, "0");

/** Returns the partition of the index rows of an attribute's value. It is hashed, because a key of Table storage limits length and characters. */
export const attributeUsersKey = (key: string, value: string): string =>
  createHash("sha256").update(`${key}\0${value}`, "utf8").digest("base64url");

/** Returns a row of a version that this code can read. Throws a `RowError` for any other. */
export function checkedVersion<R extends Row | undefined>(row: R): R {
  if (row !== undefined) checkVersion("authentication", row, schemaVersion);
  return row;
}

/**
 * Returns the id of the user or OTP key that owns a row. The row counts only while that owner exists (A20).
 * Throws a `RowError` for an invalid id.
 */
export function ownerOf(row: Row | undefined): number | undefined {
  if (checkedVersion(row)?.id === undefined) return undefined;
  return row && parseRow("owned", row, idSchema, row.id);
}

/** Returns the ids of the users or OTP keys that own rows. */
export const ownersOf = (rows: readonly Row[]): readonly number[] => [
  ...new Set(rows.map(ownerOf).filter(owner => owner !== undefined)),
];

/** Returns the owner's attributes from the rows of a partition. */
export const attributesIn = (rows: readonly Row[], owner: number): Attributes =>
  Object.fromEntries(
    rows
      .filter(row => row.rowKey.startsWith(attributePrefix) && ownerOf(row) === owner)
      .map(row => [row.rowKey.slice(attributePrefix.length), parseRow("attribute", row, textSchema, row.value)]),
  );

/** Returns an attribute's value, or undefined if the row is not the owner's. */
export const valueIn = (row: Row | undefined, owner: number): string | undefined =>
  row !== undefined && ownerOf(row) === owner ? parseRow("attribute", row, textSchema, row.value) : undefined;

/** Returns the owner's attribute head; `noAttributes` if the row is absent or not the owner's. */
export const headIn = (row: Row | undefined, owner: number): AttributeHead =>
  row !== undefined && ownerOf(row) === owner ? parseRow("attribute head", row, headSchema, row) : noAttributes;

/** Returns the OTP key of an assignment row in the user's partition. */
export const assignedKeyIn = (row: Row): AssignedKey => ({
  prefix: row.rowKey.slice(assignedPrefix.length),
  id: parseRow("assignment", row, idSchema, row.keyId),
});

export const toUserColumns = ({ id, name, password, epoch, createdAt }: User): Columns => ({
  schema: schemaVersion,
  id,
  name,
  passwordHash: password?.hash,
  pepper: password?.pepper,
  epoch,
  createdAt,
});

export function fromUserRow(row: Row): Stored<User> {
  const { partitionKey: userHash, id, name, passwordHash: hash, pepper, epoch, createdAt } = checkedVersion(row);
  const user = { id, name, userHash, epoch, createdAt };
  const value = parseRow("user", row, userSchema, hash === undefined ? user : { ...user, password: { hash, pepper } });
  return { value, version: row.etag };
}

export const toKeyColumns = (key: OtpKey): Columns => ({
  schema: schemaVersion,
  id: key.id,
  kind: key.kind,
  enabled: key.enabled,
  failures: key.failures,
  stopped: key.stopped,
  stoppedAt: key.stoppedAt,
  lastUsed: key.lastUsed,
  validFrom: key.validFrom,
  validUntil: key.validUntil,
  temporaryCode: key.temporaryCode && JSON.stringify(key.temporaryCode),
  form: JSON.stringify(key.form),
  sealedSecret: key.sealedSecret,
  createdAt: key.createdAt,
});

export function fromKeyRow(row: Row): Stored<OtpKey> {
  const { partitionKey: prefix, ...columns } = checkedVersion(row);
  const value = parseRow("otpkey", row, keySchema, {
    ...columns,
    prefix,
    form: jsonColumn("otpkey", row, "form"),
    ...(row.temporaryCode !== undefined && { temporaryCode: jsonColumn("otpkey", row, "temporaryCode") }),
  });
  return { value, version: row.etag };
}

export const toSessionColumns = (session: Session): Columns => ({ schema: schemaVersion, ...session });

export const fromSessionRow = (row: Row): Stored<Session> => ({
  value: parseRow("session", checkedVersion(row), sessionSchema, row),
  version: row.etag,
});

export const toThrottleColumns = (userId: number | undefined, value: Throttle): Columns => ({
  schema: schemaVersion,
  id: userId,
  value: JSON.stringify(value),
});

/** Returns the columns of the row that records a user's last sign-in. */
export const toLoginColumns = (userId: number, at: Instant): Columns => ({ schema: schemaVersion, id: userId, at });

/** Returns the time of the user's last sign-in; undefined if there was none. */
export const lastLoginIn = (row: Row | undefined, userId: number): Instant | undefined =>
  row !== undefined && ownerOf(row) === userId ? parseRow("login", row, storedInstant, row.at) : undefined;

/** Returns the throttle of that user, or of an unknown username; `noFailures` if the row belongs to another owner. */
export const fromThrottleRow = (row: Row | undefined, userId: number | undefined): Throttle =>
  row === undefined || ownerOf(row) !== userId
    ? noFailures
    : parseRow("throttle", row, throttleSchema, jsonColumn("throttle", row, "value"));
