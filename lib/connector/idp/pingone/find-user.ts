import { callPeer, type PeerAccess } from "../../../platform/peers/call-peer.ts";
import { PeerFailure } from "../../../platform/peers/peer-failure.ts";
import type { TokenCall } from "../../peers/access-token.ts";
import { isUuid } from "../is-uuid.ts";
import { byUsername, type PingOneUser, pingOneUser, userList } from "./wire.ts";

const operation = "user";

/**
 * Creates the look-up of users, by id or user name. It fails as `missing` or `refused`, with the code `user`, for a
 * name that no user or more than one has.
 */
export function createUserLookup(access: PeerAccess, url: string) {
  const get = { operation, method: "GET", mayRepeat: true } as const;
  const find = async (call: TokenCall, userId: string): Promise<PingOneUser> => {
    const username = userId.toWellFormed();
    const query = new URLSearchParams({ filter: byUsername(username), limit: "2" });
    const [found, ...others] = await callPeer(access, { ...call, ...get, url: `${url}?${query}`, response: userList });
    const failed = (kind: "missing" | "refused", detail: string) =>
      new PeerFailure(access.peer, operation, kind, { code: "user", detail });
    if (found === undefined) throw failed("missing", "The user was not found.");
    // Checks the result, so that a misread filter cannot give the security key to another user.
    if (others.length > 0 || folded(found.username) !== folded(username))
      throw failed("refused", "The name does not identify one user.");
    return found;
  };
  return {
    /** Returns the id of a user. Makes no call if `userId` is an id. */
    resolve: async (call: TokenCall, userId: string): Promise<string> =>
      isUuid(userId) ? userId : (await find(call, userId)).id,
    read: (call: TokenCall, userId: string): Promise<PingOneUser> => {
      if (!isUuid(userId)) return find(call, userId);
      return callPeer(access, { ...call, ...get, url: `${url}/${encodeURIComponent(userId)}`, response: pingOneUser });
    },
  };
}

const folded = (name: string) => name.normalize("NFC").toLowerCase();
