import pLimit from "p-limit";
import { Fault, type Problem } from "../fault.ts";
import type { Instant } from "../time.ts";
import type { Place } from "./create-wire.ts";
import type { Challenge, Idp } from "./idp/contract.ts";
import type { NewRequest } from "./new-request.ts";
import { PeerFailure } from "./peers/peer-failure.ts";
import type { ConnectorDeps, Idps } from "./ports.ts";
import type { Credential, Key } from "./request.ts";
import { openHandle } from "./sealed-handle.ts";

/** Every credential's IdP must be configured and its relying party be the IdP's (decisions C5, C13). */
export function idpProblems(
  { keys }: Pick<NewRequest, "keys">,
  idps: Idps,
  pathOf: (place: Place) => string,
): readonly Problem[] {
  const found = keys.flatMap(({ id: keyId, credentials }) =>
    credentials.flatMap(({ idpId, relyingPartyId }, index): Problem[] => {
      const idp = idps.get(idpId ?? idps.defaultId);
      if (idp === undefined) {
        return [{ path: pathOf({ field: "idp", keyId, index }), reason: "is not a configured identity provider" }];
      }
      const { defaultRelyingPartyId: own = relyingPartyId } = idp;
      if (relyingPartyId === undefined || relyingPartyId === own) return [];
      const path = pathOf({ field: "relyingParty", keyId, index });
      return [{ path, reason: "is not the identity provider's relying party" }];
    }),
  );
  // Keys of one item share its fields.
  return [...new Map(found.map(problem => [problem.path, problem])).values()];
}

export type Challenges = ReadonlyMap<Credential, Challenge>;

/**
 * Asks the IdP of every credential for creation options, a few at a time. On the first refusal the rest is not asked.
 * @param until nobody is asked later
 * @returns what was begun, and the first failure
 */
export async function askIdps(
  keys: readonly Key[],
  until: Instant,
  { idps, timing, concurrency, now }: Pick<ConnectorDeps, "idps" | "timing" | "concurrency" | "now">,
): Promise<{ challenges: Challenges; failure?: { idp: Idp; error: unknown } }> {
  const limit = pLimit(concurrency);
  const challenges = new Map<Credential, Challenge>();
  let failure: { idp: Idp; error: unknown } | undefined;
  const ask = async (credential: Credential): Promise<void> => {
    const idp = idps.get(credential.idpId);
    if (idp === undefined || failure !== undefined) return;
    if (now() > until) {
      const detail = "The identity providers took too long.";
      failure = { idp, error: new PeerFailure(`IdP ${idp.id}`, "creation options", "unanswered", { detail }) };
      return;
    }
    const { userId, relyingPartyId } = credential;
    // A call under way is not cut: what it begins there has to be known, to be undone.
    const signal = AbortSignal.timeout(timing.idpCall);
    try {
      challenges.set(
        credential,
        await idp.creationOptions({ userId, ...(relyingPartyId && { relyingPartyId }) }, signal),
      );
    } catch (error) {
      failure ??= { idp, error };
    }
  };
  await Promise.all(keys.flatMap(key => key.credentials).map(credential => limit(ask, credential)));
  return { challenges, ...(failure && { failure }) };
}

/** What the caller of create is told when an IdP did not give options (decisions C1, C6). */
export function idpFault({ idp, error }: { idp: Idp; error: unknown }): Fault {
  if (!(error instanceof PeerFailure)) return new Fault("internal", "Internal error.", { cause: error });
  const detail = error.detail === undefined ? "" : `: ${error.detail}`;
  // 403 is about this user or this right; 401, and no token at all, about the connector.
  if (error.kind === "refused" || error.kind === "missing" || error.status === 403) {
    return new Fault("idp_refused", `The identity provider ${idp.id} refused the credential${detail}`, {
      cause: error,
    });
  }
  if (error.kind === "unauthorized") {
    return new Fault("internal", `The identity provider ${idp.id} does not accept the connector.`, { cause: error });
  }
  return new Fault("unavailable", `The identity provider ${idp.id} does not answer now.`, {
    retryAfter: error.retryAfter ?? 30,
    cause: error,
  });
}

/** Takes back at the IdPs what was begun there. Throws the first failure; repeating is safe. */
export async function undoAtIdps(
  requestId: string,
  keys: readonly Key[],
  { idps, timing, concurrency, sealer }: Pick<ConnectorDeps, "idps" | "timing" | "concurrency" | "sealer">,
): Promise<void> {
  const limit = pLimit(concurrency);
  const undo = async (keyId: string, index: number, { idpId, handle }: Credential): Promise<void> => {
    const idp = idps.get(idpId);
    if (idp === undefined || handle === undefined) return;
    const opened = await openHandle(requestId, keyId, index, handle, sealer);
    await idp.undo(opened, AbortSignal.timeout(timing.idpCall));
  };
  await Promise.all(
    keys.flatMap(({ id, credentials }) => credentials.map((credential, index) => limit(undo, id, index, credential))),
  );
}
