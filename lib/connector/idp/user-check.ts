import type { PeerAccess } from "../../platform/call-peer.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";

/** What is known about a user or the IdP's policies that concerns a new credential. */
export interface UserProblem {
  /** For programs: one of a small, fixed set. */
  readonly code: string;
  /** What is wrong and what to change, as the rest of a sentence that begins with the user. */
  readonly message: string;
  /** `refused`: no credential can be registered. `unchecked`: the IdP did not answer. */
  readonly effect: "refused" | "warning" | "unchecked";
  /** Set for a warning about the user. Others concern the IdP, and are equal for all its users. */
  readonly isOfUser?: boolean;
}

export const refusal = (code: string, message: string): UserProblem => ({ code, message, effect: "refused" });
export const warning = (code: string, message: string): UserProblem => ({ code, message, effect: "warning" });
export const userWarning = (code: string, message: string): UserProblem => ({
  ...warning(code, message),
  isOfUser: true,
});
export const notChecked = (reason: string): UserProblem => ({
  code: "not_checked",
  message: `could not be checked: ${reason}`,
  effect: "unchecked",
});

/** The code of a warning that the connector lacks a permission. */
export const rightMissing = "right_missing";

/** Returns the problem of a check without an answer. Throws any other error than a PeerFailure. */
export function unchecked(error: unknown): UserProblem {
  if (!(error instanceof PeerFailure)) throw error;
  return notChecked(error.message);
}

/**
 * Returns the problems that a read finds, or that it failed, so that it does not hide what other reads find. Throws a
 * failure with 401, after which the token is renewed.
 * @param right what an administrator grants if the IdP refuses the read, as the rest of a sentence
 */
export const checked = (read: Promise<readonly UserProblem[]>, right: string): Promise<readonly UserProblem[]> =>
  read.catch((error: unknown) => {
    if (!(error instanceof PeerFailure) || error.status === 401) throw error;
    if (error.status !== 403 || error.code === undefined) return [unchecked(error)];
    return [warning(rightMissing, `was not fully checked: ${right}`)];
  });

/** Returns a handler of a user whom the IdP itself does not find. Any other 404 means a wrong address. */
export const asUnknownUser =
  (message: string) =>
  (error: unknown): readonly UserProblem[] => {
    if (!(error instanceof PeerFailure) || error.code === undefined) throw error;
    // A name that is not that of one user.
    if (error.kind !== "missing" && error.code !== "user") throw error;
    return [refusal("user_unknown", message)];
  };

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
    throw error.as("refused", {
      detail: `${vendor} does not know the user, who was deleted or renamed. ${checkThere}`,
    });
  };

/**
 * Concludes a revocation whose credential is not in the list of its user, so that it is gone. The name of a user who
 * was renamed may be another user's, and then the key still works: a name throws a PeerFailure `refused`, also if an
 * earlier attempt has removed the credential and its answer was lost.
 */
export function requireUserId({ peer }: Pick<PeerAccess, "peer">, userId: string, vendor: string): void {
  if (isUuid(userId)) return;
  const detail = `${vendor} lists no such key for the user, whose name may be another user's now. ${checkThere}`;
  throw new PeerFailure(peer, "revocation", "refused", { detail });
}

const checkThere = "Check there whether the key is registered.";

/** Whether an id is a UUID. As the id of a user, it is one that no rename changes. */
export const isUuid = (id: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
