import { createHash } from "node:crypto";
import { type AttributeHead, noAttributes } from "../auth/attributes.ts";
import type { Attributes, OtpKey, Session, Stored, User } from "../auth/ports.ts";
import { noFailures, type Throttle } from "../auth/throttle.ts";
import type { Row } from "./tables.ts";

/** Written into every row; readers take this version and the one before it (decision G12). */
export const schemaVersion = 1;

type Columns = Record<string, string | number | boolean | undefined>;

export const userRow = "user";
export const throttleRow = "throttle";
export const headRow = "attributes";
export const attributePrefix = "attr:";
/** Of an assignment in the user's partition. */
export const assignedPrefix = "key:";
export const keyRow = "key";
/** Of an assignment in the key's partition. */
export const holderPrefix = "user:";

/** An id that sorts as text. */
export const idKey = (id: number): string => String(id).padStart(16, "0");

/** Where the users are who have this value: hashed, because a key of Table storage holds neither its length nor its signs. */
export const attributeUsersKey = (key: string, value: string): string =>
  createHash("sha256").update(`${key}\0${value}`, "utf8").digest("base64url");

/** A row as read. Throws for one that a later version wrote. */
export function known<R extends Row | undefined>(row: R): R {
  if (row !== undefined && (typeof row.schema !== "number" || row.schema > schemaVersion)) {
    throw new Error(`row ${row.rowKey} has schema version ${String(row.schema)}, which this version cannot read`);
  }
  return row;
}

/** The user or key whose row it is; it counts only while that one is there (decision A20). */
export const ownerOf = (row: Row | undefined): number | undefined =>
  known(row)?.id === undefined ? undefined : Number(row?.id);

/** Attributes by key, out of the rows of a partition. */
export const attributesIn = (rows: readonly Row[], owner: number): Attributes =>
  Object.fromEntries(
    rows
      .filter(row => row.rowKey.startsWith(attributePrefix) && ownerOf(row) === owner)
      .map(({ rowKey, value }) => [rowKey.slice(attributePrefix.length), String(value)]),
  );

/** An attribute's value, where the row is the owner's. */
export const valueIn = (row: Row | undefined, owner: number): string | undefined =>
  row !== undefined && ownerOf(row) === owner ? String(row.value) : undefined;

/** What the head row says of the owner's attributes. */
export const headIn = (row: Row | undefined, owner: number): AttributeHead =>
  row !== undefined && ownerOf(row) === owner ? { count: Number(row.count), size: Number(row.size) } : noAttributes;

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
  const { partitionKey, id, name, passwordHash, pepper, epoch, createdAt } = known(row);
  const value: User = {
    id: Number(id),
    name: String(name),
    handle: partitionKey,
    ...(passwordHash === undefined ? {} : { password: { hash: String(passwordHash), pepper: String(pepper) } }),
    epoch: Number(epoch),
    createdAt: String(createdAt),
  };
  return { value, version: row.etag };
}

export const toKeyColumns = (key: OtpKey): Columns => ({
  schema: schemaVersion,
  id: key.id,
  kind: key.kind,
  enabled: key.enabled,
  failures: key.failures,
  stopped: key.stopped,
  form: JSON.stringify(key.form),
  sealedSecret: key.sealedSecret,
  createdAt: key.createdAt,
});

export function fromKeyRow(row: Row): Stored<OtpKey> {
  const { partitionKey, id, kind, enabled, failures, stopped, form, sealedSecret, createdAt } = known(row);
  const value: OtpKey = {
    id: Number(id),
    prefix: partitionKey,
    ...(kind === undefined ? {} : { kind: kind as NonNullable<OtpKey["kind"]> }),
    enabled: enabled === true,
    failures: Number(failures),
    stopped: stopped === true,
    form: JSON.parse(String(form)),
    ...(sealedSecret === undefined ? {} : { sealedSecret: String(sealedSecret) }),
    createdAt: String(createdAt),
  };
  return { value, version: row.etag };
}

export const toSessionColumns = (session: Session): Columns => ({ schema: schemaVersion, ...session });

export function fromSessionRow(row: Row): Stored<Session> {
  const { userId, epoch, prefix, createdAt, accessedAt, expiresAt } = known(row);
  const value: Session = {
    userId: Number(userId),
    epoch: Number(epoch),
    ...(prefix === undefined ? {} : { prefix: String(prefix) }),
    createdAt: String(createdAt),
    accessedAt: String(accessedAt),
    expiresAt: String(expiresAt),
  };
  return { value, version: row.etag };
}

export const toThrottleColumns = (userId: number | undefined, value: Throttle): Columns => ({
  schema: schemaVersion,
  id: userId,
  value: JSON.stringify(value),
});

/** What counts for that user, or for a name that nobody has. */
export const fromThrottleRow = (row: Row | undefined, userId: number | undefined): Throttle =>
  row === undefined || ownerOf(row) !== userId ? noFailures : JSON.parse(String(row.value));
