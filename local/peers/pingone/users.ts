import { createHash } from "node:crypto";
import type { State } from "../state-file.ts";

/** How Ping's products treat a user: `forbidden` is not accessible to the caller, `blocked` may not have keys by policy. */
export const PING_ACCOUNT_STATUSES = ["known", "unknown", "forbidden", "blocked"] as const;
export type PingAccountStatus = (typeof PING_ACCOUNT_STATUSES)[number];

export interface PingUsersState {
  /** By lower-case name or id. */
  readonly standings: [user: string, accountStatus: PingAccountStatus][];
}

export interface PingUsers {
  accountStatusOf(user: string): PingAccountStatus;
  set(user: string, accountStatus: PingAccountStatus): void;
}

/** Every user exists, unless a control call changes it or the name begins with `unknown` or `blocked`. */
export function createPingUsers(file: State<PingUsersState>): PingUsers {
  const { standings } = file.value;
  const positionOf = (user: string) => standings.findIndex(([known]) => known === folded(user));
  return {
    accountStatusOf: user =>
      standings[positionOf(user)]?.[1] ??
      (["unknown", "blocked"] as const).find(word => folded(user).startsWith(word)) ??
      "known",
    set: (user, accountStatus) => {
      const at = positionOf(user);
      standings.splice(at === -1 ? standings.length : at, 1, [folded(user), accountStatus]);
      file.save();
    },
  };
}

export const folded = (name: string): string => name.toLowerCase();

/** Returns the UUID of the user of a name, which is the same everywhere. */
export function idOfUser(name: string): string {
  const hex = createHash("sha256").update(folded(name)).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}
