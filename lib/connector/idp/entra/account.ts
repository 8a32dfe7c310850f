import type * as z from "zod";
import { raceAbort, withTimeoutSignal } from "../../../platform/async/timeout.ts";
import { callPeer, type PeerAccess } from "../../../platform/peers/call-peer.ts";
import { orFailure, PeerFailure } from "../../../platform/peers/peer-failure.ts";
import type { AccessTokens } from "../../peers/access-token.ts";
import { isUuid } from "../is-uuid.ts";
import { graphUser } from "./wire.ts";

const operation = "user";
/** The part of the time limit of a call for which creation options wait for an account at most. */
const objectIdShare = 0.25;

/** The accounts of users in the tenant. Reading one needs a permission that the registration of keys does not need. */
export type Accounts = ReturnType<typeof createAccounts>;

/** Creates the look-up of accounts, by object id or principal name. */
export function createAccounts(access: PeerAccess, tokens: AccessTokens, userUrl: (userId: string) => string) {
  const running = new Map<string, Promise<z.output<typeof graphUser>>>();

  /** The call has no caller's signal, so that one caller cannot end it for others. */
  const start = (userId: string) => {
    const url = `${userUrl(userId)}?$select=id,accountEnabled,userType`;
    const get = { operation, method: "GET", mayRepeat: true, url, response: graphUser } as const;
    return tokens.use(undefined, call => callPeer(access, { ...call, ...get })).finally(() => running.delete(userId));
  };
  /** Returns the account of a user. Simultaneous checks and creation options of a user share a call. */
  const read = (userId: string, signal: AbortSignal) => {
    const shared = running.get(userId) ?? start(userId);
    running.set(userId, shared);
    return raceAbort(shared, signal, cause => new PeerFailure(access.peer, operation, "unanswered", { cause }));
  };

  return {
    read,
    /** Returns the object id of a user, which no rename changes; undefined if Graph does not give it in time. */
    objectId: async (userId: string, outer: AbortSignal): Promise<string | undefined> => {
      if (isUuid(userId)) return userId;
      const found = await withTimeoutSignal(access.timeLimitMs * objectIdShare, outer, signal =>
        orFailure(read(userId, signal)),
      );
      return found instanceof PeerFailure || found.id === undefined || !isUuid(found.id) ? undefined : found.id;
    },
  };
}
