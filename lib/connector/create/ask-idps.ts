import pLimit from "p-limit";
import { Fault, type Problem } from "../../fault.ts";
import type { Instant } from "../../time.ts";
import type { SecurityKeyPath } from "../api/create-wire.ts";
import type { Decidable } from "../api/v2/create-partial.ts";
import type { ConnectorDeps, Idps } from "../deps.ts";
import { PeerFailure } from "../http/failure.ts";
import type { Idp } from "../idp/contract.ts";
import type { Credential, SecurityKey } from "../model/request.ts";
import type { Challenge } from "../model/webauthn.ts";
import { type Asked, type Challenges, credentialSlot, wantedOf } from "../recovery/asked-idps.ts";

/** Every credential's IdP must be configured and its relying party be the IdP's (decisions C5, C13). */
export function idpProblems(
  { keys }: Pick<Decidable, "keys">,
  idps: Idps,
  pathOf: (place: SecurityKeyPath) => string,
): readonly Problem[] {
  const found = keys.flatMap(({ id: keyId, credentials }) =>
    credentials.flatMap(({ idpId, relyingPartyId }, index): Problem[] => {
      const idp = idps.get(idpId ?? idps.defaultId);
      if (idp === undefined) return [{ path: pathOf({ field: "idp", keyId, index }), reason: notConfigured }];
      if (relyingPartyId === undefined || relyingPartyId === idp.defaultRelyingPartyId) return [];
      const path = pathOf({ field: "relyingParty", keyId, index });
      return [{ path, reason: "is not the identity provider's relying party" }];
    }),
  );
  // Keys of one item share its fields.
  return [...new Map(found.map(problem => [problem.path, problem])).values()];
}

const notConfigured = "is not a configured identity provider";

export const challengeOf = (challenges: Challenges, keyId: string, index: number): Challenge | undefined =>
  challenges.get(credentialSlot(keyId, index));

/** Why an IdP gave no creation options: its own failure, or that it is not configured any more. */
export type AskFailure =
  | { readonly idp: Idp; readonly error: unknown }
  | { readonly gone: { readonly keyId: string; readonly index: number } };

/**
 * Asks the IdP of every credential for creation options, a few at a time. On the first refusal the rest is not asked.
 * @param until no IdP is asked later
 * @returns the answers, and the first failure
 */
export async function askIdps(
  requestId: string,
  keys: readonly SecurityKey[],
  until: Instant,
  { idps, intervals: timing, concurrency, now }: Pick<ConnectorDeps, "idps" | "intervals" | "concurrency" | "now">,
): Promise<Asked & { failure?: AskFailure }> {
  const limit = pLimit(concurrency);
  const challenges = new Map<string, Challenge>();
  const lost = new Set<string>();
  let failure: AskFailure | undefined;
  const ask = async (keyId: string, index: number, credential: Credential): Promise<void> => {
    if (failure !== undefined) return;
    const idp = idps.get(credential.idpId);
    if (idp === undefined) {
      // The configuration was read again after the request was checked.
      failure = { gone: { keyId, index } };
      return;
    }
    if (now() > until) {
      const detail = "The identity providers took too long.";
      failure = { idp, error: new PeerFailure(`IdP ${idp.id}`, "creation options", "unanswered", { detail }) };
      return;
    }
    // A call under way is not cut: what it begins there has to be known, to be undone.
    const signal = AbortSignal.timeout(timing.idpCall);
    try {
      challenges.set(
        credentialSlot(keyId, index),
        await idp.creationOptions(wantedOf(requestId, keyId, index, credential), signal),
      );
    } catch (error) {
      if (error instanceof PeerFailure && error.kind === "unanswered") lost.add(credentialSlot(keyId, index));
      failure ??= { idp, error };
    }
  };
  await Promise.all(
    keys.flatMap(({ id, credentials }) => credentials.map((credential, index) => limit(ask, id, index, credential))),
  );
  return { challenges, lost, ...(failure && { failure }) };
}

/** Returns the refusal of a create to which an IdP gave no options (decisions C1, C6). */
export function idpFault(failure: AskFailure, pathOf: (place: SecurityKeyPath) => string): Fault {
  if ("gone" in failure) {
    const problems = [{ path: pathOf({ field: "idp", ...failure.gone }), reason: notConfigured }];
    return new Fault("invalid", "The request is not valid.", { problems });
  }
  const { idp, error } = failure;
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
