import pLimit from "p-limit";
import { Fault, type Problem } from "../fault.ts";
import type { Instant } from "../time.ts";
import type { Place } from "./create-wire.ts";
import type { Challenge, Idp, Wanted } from "./idp/contract.ts";
import { PeerFailure } from "./peers/peer-failure.ts";
import type { ConnectorDeps, Idps } from "./ports.ts";
import type { Credential, Key } from "./request.ts";
import { openHandle } from "./sealed-handle.ts";
import type { Decidable } from "./wire-v2-partial.ts";

/** Every credential's IdP must be configured and its relying party be the IdP's (decisions C5, C13). */
export function idpProblems(
  { keys }: Pick<Decidable, "keys">,
  idps: Idps,
  pathOf: (place: Place) => string,
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

/** What the IdPs answered, by key id and the credential's index. */
export type Challenges = ReadonlyMap<string, Challenge>;

export const challengeOf = (challenges: Challenges, keyId: string, index: number): Challenge | undefined =>
  challenges.get(slot(keyId, index));

/** What asking the IdPs has left there. */
export interface Asked {
  readonly challenges: Challenges;
  /** Credentials whose call was not answered, as the keys of `challenges`. */
  readonly lost: ReadonlySet<string>;
}

export const isLost = ({ lost }: Asked, keyId: string, index: number): boolean => lost.has(slot(keyId, index));

const slot = (keyId: string, index: number) => `${keyId} ${index}`;

/** The tag is the credential's place in our storage, so that it is the same whenever what was begun is looked for. */
const wantedOf = (requestId: string, keyId: string, index: number, { userId, relyingPartyId }: Credential): Wanted => ({
  userId,
  ...(relyingPartyId && { relyingPartyId }),
  tag: `${requestId}.${keyId}.${index + 1}`,
});

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
  keys: readonly Key[],
  until: Instant,
  { idps, timing, concurrency, now }: Pick<ConnectorDeps, "idps" | "timing" | "concurrency" | "now">,
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
        slot(keyId, index),
        await idp.creationOptions(wantedOf(requestId, keyId, index, credential), signal),
      );
    } catch (error) {
      if (error instanceof PeerFailure && error.kind === "unanswered") lost.add(slot(keyId, index));
      failure ??= { idp, error };
    }
  };
  await Promise.all(
    keys.flatMap(({ id, credentials }) => credentials.map((credential, index) => limit(ask, id, index, credential))),
  );
  return { challenges, lost, ...(failure && { failure }) };
}

/** Returns the refusal of a create to which an IdP gave no options (decisions C1, C6). */
export function idpFault(failure: AskFailure, pathOf: (place: Place) => string): Fault {
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

/**
 * Removes at the IdPs what was begun there, also where an answer was lost and its id is not known. Throws the first failure; repeating is safe.
 * @param asked of a create under way; without it, any credential without a state of its IdP may have a lost answer
 */
export async function undoAtIdps(
  requestId: string,
  keys: readonly Key[],
  { idps, timing, concurrency, sealer }: Pick<ConnectorDeps, "idps" | "timing" | "concurrency" | "sealer">,
  asked?: Asked,
): Promise<void> {
  const limit = pLimit(concurrency);
  const undo = async (keyId: string, index: number, credential: Credential): Promise<void> => {
    const idp = idps.get(credential.idpId);
    const signal = AbortSignal.timeout(timing.idpCall);
    if (credential.handle === undefined) {
      if (asked === undefined || isLost(asked, keyId, index))
        await idp?.undoLost?.(wantedOf(requestId, keyId, index, credential), signal);
      return;
    }
    if (idp === undefined) return;
    const opened = await openHandle(requestId, keyId, index, credential.handle, sealer);
    await idp.undo(opened, signal);
  };
  await Promise.all(
    keys.flatMap(({ id, credentials }) => credentials.map((credential, index) => limit(undo, id, index, credential))),
  );
}
