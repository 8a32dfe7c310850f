import pLimit from "p-limit";
import { withTimeout } from "../../platform/async.ts";
import { Fault } from "../../platform/fault.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Idp } from "../idp/contract.ts";
import { rightMissing, type UserProblem, unchecked } from "../idp/user-check.ts";
import type { DraftLocation, RequestDraft } from "./draft.ts";

/** A user at an IdP for whom a request orders credentials. */
interface OrderedUser {
  readonly idpId: string;
  readonly userId: string;
  /** The user's first credential, where a problem is reported. */
  readonly at: DraftLocation;
  /** The security key of each credential. */
  readonly keys: readonly Pick<RequestDraft["keys"][number], "provisioning">[];
}

/** Returns the users of a request, each once for an IdP. */
export function usersOf(
  keys: readonly Pick<RequestDraft["keys"][number], "id" | "provisioning" | "credentials">[],
  defaultIdp: string,
): readonly OrderedUser[] {
  const users = new Map<string, OrderedUser>();
  for (const key of keys)
    for (const [index, { idpId = defaultIdp, userId }] of key.credentials.entries()) {
      const id = `${idpId} ${userId}`;
      const { at = { field: "user", keyId: key.id, index } as const, keys: before = [] } = users.get(id) ?? {};
      users.set(id, { idpId, userId, at, keys: [...before, key] });
    }
  return [...users.values()];
}

/** The IdPs whose missing permissions were logged since their settings changed. */
const logged = new WeakSet<Idp>();

/** Asks the IdP what prevents a credential of a user. @param asksOptions whether creation options are requested too */
export async function checkUser(
  { userId, keys }: OrderedUser,
  idp: Idp,
  { signal, asksOptions }: { readonly signal: AbortSignal; readonly asksOptions: boolean },
  { log }: Pick<ConnectorDeps, "log">,
): Promise<readonly UserProblem[]> {
  const query = { userId, newCredentials: asksOptions ? undefined : keys.length };
  const found = (await idp.checkUser?.(query, signal).catch(error => [unchecked(error)])) ?? [];
  const reasons = found.filter(({ code }) => code === rightMissing).map(({ message }) => message);
  if (reasons.length > 0 && !logged.has(idp)) {
    logged.add(idp);
    log.warn("idp_right_missing", { idp: idp.id, reasons });
  }
  return found;
}

/**
 * Throws Fault `idp_refused` if an IdP is known to refuse a credential of one of the users. A check without an answer
 * within `userCheckMs` refuses nothing: the creation options decide.
 */
export async function checkUsers(
  keys: Parameters<typeof usersOf>[0],
  pathOf: RequestDraft["pathOf"],
  { idps, concurrency, intervals, log }: Pick<ConnectorDeps, "idps" | "concurrency" | "intervals" | "log">,
): Promise<void> {
  let refused: Fault | undefined;
  const checks = (signal: AbortSignal) =>
    pLimit(concurrency).map(usersOf(keys, idps.defaultId), async user => {
      const idp = idps.get(user.idpId);
      if (idp === undefined || refused !== undefined || signal.aborted) return;
      const found = await checkUser(user, idp, { signal, asksOptions: true }, { log });
      const problem = found.find(({ effect }) => effect === "refused");
      if (problem === undefined) return;
      const message = `The identity provider ${idp.id} would refuse the credential: ${pathOf(user.at)} ${problem.message}.`;
      refused ??= new Fault("idp_refused", message);
    });
  await withTimeout(intervals.userCheckMs, checks).catch((error: unknown) => {
    if (!(error instanceof DOMException)) throw error;
  });
  if (refused !== undefined) throw refused;
}
