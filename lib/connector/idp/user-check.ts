import { PeerFailure } from "../../platform/peer-failure.ts";
import { undefinedIfGone } from "../peers/access-token.ts";

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
  /** Of `unchecked`: the seconds after which the IdP asked to be called again. */
  readonly retryAfterSeconds?: number | undefined;
}

export const refusal = (code: string, message: string): UserProblem => ({ code, message, effect: "refused" });
export const warning = (code: string, message: string): UserProblem => ({ code, message, effect: "warning" });
export const userWarning = (code: string, message: string): UserProblem => ({
  ...warning(code, message),
  isOfUser: true,
});
export const notChecked = ({
  message,
  retryAfterSeconds,
}: Pick<PeerFailure, "message" | "retryAfterSeconds">): UserProblem => ({
  code: "not_checked",
  message: `could not be checked: ${message}`,
  effect: "unchecked",
  retryAfterSeconds,
});

/** The code of a warning that the connector lacks a permission. */
export const rightMissing = "right_missing";

/** Returns the problem of a check without an answer. Throws any other error than a PeerFailure. */
export function unchecked(error: unknown): UserProblem {
  if (!(error instanceof PeerFailure)) throw error;
  return notChecked(error);
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
    // The code of a name that is not that of one user.
    if (!(error instanceof PeerFailure) || (error.kind !== "missing" && error.code !== "user")) throw error;
    return [refusal("user_unknown", message)];
  };

/**
 * Returns the key to revoke from the list of its user's keys; undefined if it is gone. The IdP may not know the user, or
 * not list the key: of an id that means it is gone. A name may have changed or be another user's now, and then the key
 * still works: throws a PeerFailure `refused`, unless an earlier list of that user had the key and its removal was not
 * answered.
 */
export async function keyToRevoke<T>(
  { peer, userId, vendor }: { readonly peer: string; readonly userId: string; readonly vendor: string },
  { mayBeRemoved }: { readonly mayBeRemoved?: boolean | undefined },
  list: Promise<T | undefined>,
): Promise<T | undefined> {
  const read = await list.then(key => ({ key }), undefinedIfGone);
  if (read?.key !== undefined || isUuid(userId) || (read !== undefined && mayBeRemoved)) return read?.key;
  const detail = `${vendor} lists no such key for the user, who may have been deleted or renamed. Check there whether the key is registered.`;
  throw new PeerFailure(peer, keysCall, "refused", { detail });
}

/** The operation of a call that lists the keys of a user. */
export const keysCall = "registered keys";

/** Whether an id is a UUID. As the id of a user, it is one that no rename changes. */
export const isUuid = (id: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
