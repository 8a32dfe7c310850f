import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { isUuid } from "./is-uuid.ts";

/** Returns undefined if the IdP itself reports that the user or the registration is gone. */
export function undefinedIfGone(error: unknown): undefined {
  if (error instanceof PeerFailure && error.isUnknownThere) return undefined;
  throw error;
}

/**
 * Returns a handler of a revocation whose list of a user's keys cannot be read. Returns undefined if the IdP does not
 * know the id of the user, who is deleted then. A name may have changed, and then the key still works: a name that is
 * unknown throws a PeerFailure `refused`.
 */
export const undefinedIfDeleted =
  (userId: string, vendor: string) =>
  (error: unknown): undefined => {
    undefinedIfGone(error);
    if (isUuid(userId) || !(error instanceof PeerFailure)) return undefined;
    const detail = `${vendor} does not know the user, who was deleted or renamed. Check there whether the key is registered.`;
    throw error.as("refused", { detail });
  };
