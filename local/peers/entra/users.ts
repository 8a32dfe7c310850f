import type { Accounts } from "../idp/accounts.ts";
import { badRequest, GraphError } from "./errors.ts";

export interface EntraUsers {
  /** Throws `GraphError` for unknown and forbidden users. */
  refuseUnlessKnown(userId: string): void;
  /** Throws `GraphError` for blocked users. */
  refuseBlocked(userId: string): void;
  /** Throws `GraphError` for guests, who get creation options but no keys. */
  refuseGuest(userId: string): void;
  view(userId: string): object;
}

export const createEntraUsers = ({ statusOf }: Accounts): EntraUsers => ({
  refuseUnlessKnown: userId => {
    const accountStatus = statusOf(userId);
    if (accountStatus === "unknown")
      throw new GraphError(404, "Request_ResourceNotFound", `Resource '${userId}' does not exist.`);
    if (accountStatus === "forbidden") throw new GraphError(403, "accessDenied", "Request Authorization failed");
  },
  refuseBlocked: userId => {
    if (statusOf(userId) === "blocked") throw badRequest("User or group restriction policy failed.");
  },
  refuseGuest: userId => {
    if (statusOf(userId) === "guest") throw badRequest("Guest users cannot register passkeys.");
  },
  view: userId => ({
    accountEnabled: statusOf(userId) !== "disabled",
    userType: statusOf(userId) === "guest" ? "Guest" : "Member",
  }),
});
