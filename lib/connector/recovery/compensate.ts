import pLimit from "p-limit";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential, SecurityKey } from "../model/request.ts";
import { openIdpState } from "../store/sealed-idp-state.ts";
import { type Asked, isLost, wantedOf } from "./asked-idps.ts";
import { removeAuthenticators } from "./remove-authenticators.ts";

/** Takes back what was begun for these keys at the enrollment side and at the IdPs (decision C6). Throws the first failure; repeating is safe. */
export async function compensate(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: Pick<ConnectorDeps, "idps" | "rfpr" | "intervals" | "concurrency" | "sealer">,
  asked?: Asked,
): Promise<void> {
  // Neither waits for the other: what one refuses to take back must not keep the other's.
  const ended = await Promise.allSettled([
    removeAuthenticators(requestId, keys, deps),
    compensateAtIdps(requestId, keys, deps, asked),
  ]);
  for (const each of ended) if (each.status === "rejected") throw each.reason;
}

/**
 * Removes at the IdPs what was begun there, also where an answer was lost and its id is not known. Throws the first failure; repeating is safe.
 * @param asked of a create under way; without it, any credential without a state of its IdP may have a lost answer
 */
export async function compensateAtIdps(
  requestId: string,
  keys: readonly SecurityKey[],
  {
    idps,
    intervals: timing,
    concurrency,
    sealer,
  }: Pick<ConnectorDeps, "idps" | "intervals" | "concurrency" | "sealer">,
  asked?: Asked,
): Promise<void> {
  const limit = pLimit(concurrency);
  const undo = async (keyId: string, index: number, credential: Credential): Promise<void> => {
    const idp = idps.get(credential.idpId);
    const signal = AbortSignal.timeout(timing.idpCall);
    if (credential.idpState === undefined) {
      if (asked === undefined || isLost(asked, keyId, index))
        await idp?.undoLost?.(wantedOf(requestId, keyId, index, credential), signal);
      return;
    }
    if (idp === undefined) return;
    const opened = await openIdpState(requestId, keyId, index, credential.idpState, sealer);
    await idp.undo(opened, signal);
  };
  await Promise.all(
    keys.flatMap(({ id, credentials }) => credentials.map((credential, index) => limit(undo, id, index, credential))),
  );
}
