import pLimit from "p-limit";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential, SecurityKey } from "../model/request.ts";
import { openIdpState } from "../store/sealed-idp-state.ts";
import { type IdpAnswers, isUnanswered, optionsRequestOf } from "./idp-answers.ts";
import { removeAuthenticators } from "./remove-authenticators.ts";

/**
 * Removes the authenticators of these security keys at the pre-registration API and their registrations at the IdPs. Throws a failure of
 * the pre-registration API, else one of an IdP. May be repeated.
 */
export async function compensate(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: Pick<ConnectorDeps, "idps" | "rfpr" | "intervals" | "concurrency" | "sealer" | "log">,
  idpAnswers?: IdpAnswers,
): Promise<void> {
  // Not `all`, so that a failure of one does not hide the other.
  const results = await Promise.allSettled([
    removeAuthenticators(requestId, keys, deps),
    compensateAtIdps(requestId, keys, deps, idpAnswers),
  ]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

/**
 * Removes the registrations that were started at the IdPs for credentials without a response, including those of unanswered calls, whose
 * ids are not known. Throws the first failure. May be repeated.
 * @param idpAnswers those of a running create; without them, each credential without an IdP state may have an unanswered call
 */
export async function compensateAtIdps(
  requestId: string,
  keys: readonly SecurityKey[],
  {
    idps,
    intervals,
    concurrency,
    sealer,
    log,
  }: Pick<ConnectorDeps, "idps" | "intervals" | "concurrency" | "sealer" | "log">,
  idpAnswers?: IdpAnswers,
): Promise<void> {
  const limit = pLimit(concurrency);
  const compensateCredential = async (keyId: string, index: number, credential: Credential): Promise<void> => {
    const idp = idps.get(credential.idpId);
    const signal = AbortSignal.timeout(intervals.idpCallMs);
    const byTag = () => idp?.compensateUnanswered?.(optionsRequestOf(requestId, keyId, index, credential), signal);
    if (credential.idpState === undefined) {
      if (idpAnswers === undefined || isUnanswered(idpAnswers, keyId, index)) await byTag();
      return;
    }
    if (idp === undefined) return;
    const opened = await openIdpState(requestId, keyId, index, credential.idpState, { sealer, log });
    // The request must not wait for a key version that may be gone for ever.
    await (opened === undefined ? byTag() : idp.compensate(opened, signal));
  };
  await Promise.all(
    keys.flatMap(({ id, credentials }) =>
      credentials.map((credential, index) =>
        credential.state === "processing" ? limit(compensateCredential, id, index, credential) : undefined,
      ),
    ),
  );
}
