import type { User } from "../../../auth/store.ts";
import { days, type Instant, minutes, plus } from "../../../time.ts";
import { parseRow } from "../../tables/row-schema.ts";
import type { Row } from "../../tables/tables.ts";
import { renamedSchema, userSchema } from "./row-schemas.ts";
import { checkedVersion, schemaVersion } from "./rows.ts";

/**
 * A row `user` of a rename. It has no `id`, so it is no user: a claim of the new name before the rename is committed,
 * or what remains of the user under the former name.
 */
export interface RenamedRow {
  /** Id of the user. */
  readonly renamed: number;
  /**
   * User hash of the former name: the row is a claim. It is a user once the row of the former name names its partition
   * in `to`.
   */
  readonly from?: string;
  /** User hash of the new name: the row is that of the former name. */
  readonly to?: string;
  /** When the row may be deleted. */
  readonly ends: Instant;
}

/**
 * How long the rows of a former name stay: longer than a backup takes, because a backup that reads the new name's
 * partition before the rename and the former one's after it must find the user.
 */
const staysMs = days(1);

export const endOfRename = (now: Instant): Instant => plus(now, staysMs);

/** Longer than any call takes. After that the process that claimed the name has finished or crashed. */
const takesMs = minutes(10);

/** Returns whether a row is a claim of a rename that may still be under way. */
export const isUnderWay = ({ from, ends }: RenamedRow, now: Instant): boolean =>
  from !== undefined && plus(now, staysMs - takesMs) < ends;

/**
 * Returns the columns of a row of a rename. They include those of the renamed user, for which the former name's row is
 * restored.
 */
export const toRenamedColumns = (
  { id, name, password, epoch, createdAt }: User,
  link: { readonly from: string } | { readonly to: string },
  ends: Instant,
) => ({
  schema: schemaVersion,
  renamed: id,
  ...link,
  ends,
  name,
  passwordHash: password?.hash,
  pepper: password?.pepper,
  epoch,
  createdAt,
});

/** Returns the rename to which a row `user` belongs; undefined for a user's row. */
export function renamedIn(row: Row | undefined): RenamedRow | undefined {
  if (checkedVersion(row)?.renamed === undefined) return undefined;
  return row && parseRow("renamed user", row, renamedSchema, row);
}

/** Returns the user under the new name from a row of a rename. */
export function renamedUserIn(row: Row): User {
  const { renamed, to } = parseRow("renamed user", row, renamedSchema, row);
  const { partitionKey, name, passwordHash: hash, pepper, epoch, createdAt } = row;
  const user = { id: renamed, name, userHash: to ?? partitionKey, epoch, createdAt };
  return parseRow("user", row, userSchema, hash === undefined ? user : { ...user, password: { hash, pepper } });
}
