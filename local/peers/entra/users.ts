import type { State } from "../state-file.ts";
import { badRequest, GraphError } from "./errors.ts";

/**
 * How the tenant treats a user: `unknown` does not exist, `forbidden` is not accessible to the caller (403), `blocked` may not
 * have keys by the tenant's policy (400), such as a guest.
 */
export const ACCOUNT_STATUSES = ["known", "unknown", "forbidden", "blocked"] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

export interface EntraUsers {
  /** Throws `GraphError` for unknown and forbidden users. */
  refuseUnlessKnown(userId: string): void;
  /** Throws `GraphError` for blocked users. */
  refuseBlocked(userId: string): void;
  set(userId: string, accountStatus: AccountStatus): void;
}

/** Every user exists, unless a control call changes it or the id begins with `unknown` or `blocked`. */
export function createEntraUsers(
  file: State<{ readonly users: [userId: string, accountStatus: AccountStatus][] }>,
): EntraUsers {
  const { users } = file.value;
  const positionOf = (userId: string) => users.findIndex(([known]) => known === userId.toLowerCase());
  const accountStatusOf = (userId: string): AccountStatus =>
    users[positionOf(userId)]?.[1] ??
    (["unknown", "blocked"] as const).find(word => beginsWith(userId, word)) ??
    "known";
  return {
    refuseUnlessKnown: userId => {
      const accountStatus = accountStatusOf(userId);
      if (accountStatus === "unknown")
        throw new GraphError(404, "Request_ResourceNotFound", `Resource '${userId}' does not exist.`);
      if (accountStatus === "forbidden") throw new GraphError(403, "accessDenied", "Request Authorization failed");
    },
    refuseBlocked: userId => {
      if (accountStatusOf(userId) === "blocked") throw badRequest("User or group restriction policy failed.");
    },
    set: (userId, accountStatus) => {
      const at = positionOf(userId);
      users.splice(at === -1 ? users.length : at, 1, [userId.toLowerCase(), accountStatus]);
      file.save();
    },
  };
}

const beginsWith = (userId: string, word: string) => userId.toLowerCase().startsWith(word);
