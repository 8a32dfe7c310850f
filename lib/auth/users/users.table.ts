import { omitUndefined } from "../../platform/collections.ts";
import { confirmWrite, conflict, retryOnConflict, type Stored } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import { attributesIn } from "../attributes/attribute-rows.table.ts";
import { newEpoch } from "../ids.ts";
import { endedCode } from "../passwords/password-code.ts";
import type { Range, User, UserFilter, UserView } from "../store.ts";
import { type AuthTables, idKey, nonePartition } from "../tables.table.ts";
import { changeUsername } from "./change-username.table.ts";
import { insertUser, type NewUser } from "./insert-user.table.ts";
import { listUsers } from "./list-users.table.ts";
import { locateUser, readRowsOf, readUser } from "./names.table.ts";
import { removeUser } from "./remove-user.table.ts";
import { lastLoginIn, loginColumns, loginRow, replaceUser, rowOf, userRow } from "./user-rows.table.ts";
import type { Username, UserRef } from "./username.ts";

/** What may change in the write that gives a user a new epoch. */
type UserChange = Pick<User, "password" | "passwordCode"> & { readonly enabled?: boolean };

/** Storage of users. */
export function userTable(tables: AuthTables) {
  const { users, random } = tables;

  return {
    find: (userRef: UserRef) => readUser(tables, userRef),

    /** Returns the id to which a folded name leads. The name need not be that of the user. */
    idOf: (folded: string) => locateUser(tables, { by: "name", folded }),

    /** Reads a user who cannot exist. Each text has a partition of its own, so that many such reads heat none. */
    findNone: async (text: string): Promise<undefined> => void (await users.get(nonePartition(text), userRow)),

    async view(userRef: UserRef): Promise<UserView | undefined> {
      const found = await readRowsOf(tables, userRef);
      if (found === undefined) return undefined;
      const { user, rows } = found;
      return {
        ...user,
        otpkeys: user.otpkeys.map(({ prefix }) => prefix),
        attributes: attributesIn(rows.attributes),
        ...omitUndefined({ lastLogin: lastLoginIn(rows.login) }),
      };
    },

    create: (user: NewUser) => insertUser(tables, user),

    /**
     * Writes the password, or the code in its place, by version, without an end of sessions. Returns undefined after a
     * conflict.
     */
    save: (user: Stored<User>, change: UserChange): Promise<Stored<User> | undefined> =>
      replaceUser(tables, user, withChange(user.value, change)),

    /**
     * Ends the sessions of a user by a new epoch, and in the same write changes the credentials. Repeats that after a
     * conflict, with the user as read then. Returns undefined if the user was deleted meanwhile.
     * @param change throws to end the repetition
     */
    renewEpoch(start: Stored<User>, change: (user: User) => UserChange): Promise<User | undefined> {
      const epoch = newEpoch(random);
      let user: Stored<User> | undefined = start;
      return retryOnConflict(async () => {
        if (user === undefined) return undefined;
        const { value, version } = user;
        const next = { ...withChange(value, change(value)), epoch };
        const isWritten = await confirmWrite(
          () => users.replace(rowOf(next), version),
          async () => {
            user = await readUser(tables, { by: "id", id: value.id });
            // Proves the write also after a later one, which has another `writeId`: `change` would refuse the repetition.
            return user?.value.epoch === epoch ? user.version : undefined;
          },
        );
        return isWritten === undefined ? conflict : next;
      });
    },

    remove: (userRef: UserRef) => removeUser(tables, userRef),
    rename: (userRef: UserRef, username: Username) => changeUsername(tables, userRef, username),

    /** Records the time of a granted sign-in. Does nothing for a user who was deleted meanwhile. */
    recordLogin: async (id: number, at: Instant): Promise<void> =>
      void (await users.mergeExisting({
        partitionKey: idKey(id),
        rowKey: loginRow,
        ...loginColumns.toColumns({ at }),
      })),

    list: (range: Range, filter: UserFilter = {}) => listUsers(tables, range, filter),
  };
}

/** Returns the user with these credentials. Disabling a user ends the code of a reset. */
function withChange(
  { password: _, passwordCode: __, ...user }: User,
  { password, passwordCode: code, enabled = user.enabled }: UserChange,
): User {
  const isDisabling = user.enabled && !enabled;
  return {
    ...user,
    ...(password && { password }),
    ...(code && { passwordCode: isDisabling ? endedCode(code) : code }),
    enabled,
  };
}
