import type { Fault } from "../../fault.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { toResult } from "../http/to-result.ts";
import type { SecurityKey } from "../model/request.ts";
import { type Asked, type Challenges, isLost } from "../recovery/asked-idps.ts";
import { compensate } from "../recovery/compensate.ts";
import { failRequest, withoutOrderIntent } from "../recovery/fail-request.ts";
import { saveRequest } from "../store/save-request.ts";
import { withSealedIdpStates } from "../store/sealed-idp-state.ts";
import { challengeOf } from "./ask-idps.ts";

/**
 * Undoes what was begun and ends the request (decision C6). Where the undo fails, the request is left without its mark, with the
 * reason and with the ids that the IdPs gave, for the job to undo. Returns what the caller is told.
 * @param asked what asking the IdPs left there, where the rows do not have it yet
 */
export async function abortCreate(
  loaded: LoadedRequest,
  fault: Fault,
  deps: ConnectorDeps,
  asked: Asked = { challenges: new Map(), lost: new Set() },
): Promise<Fault> {
  const { id } = loaded.request.value;
  const keys = loaded.keys.map(({ value }) => withHandles(value, asked.challenges));
  try {
    const undone = await toResult(compensate(id, keys, deps, asked));
    if ("value" in undone && !mayComeLate(keys, asked, deps)) await endRefused(loaded, fault.message, deps);
    else {
      if ("error" in undone) deps.log.warn("undo_failed", { credentialRequestId: id, error: undone.error });
      const request = { ...withoutOrderIntent(loaded.request.value), errorMessage: fault.message };
      const sealed = await Promise.all(keys.map(key => withSealedIdpStates(id, key, deps.sealer)));
      await saveRequest(loaded, { request, keys: sealed }, deps);
    }
  } catch (error) {
    deps.log.error("give_up_failed", { credentialRequestId: id, error });
  }
  return fault;
}

/** Whether an IdP may yet begin what an unanswered call asked for: then the job looks again once the call is certain to be over. */
const mayComeLate = (keys: readonly SecurityKey[], asked: Asked, { idps }: ConnectorDeps): boolean =>
  keys.some(({ id, credentials }) =>
    credentials.some(({ idpId }, index) => isLost(asked, id, index) && idps.get(idpId)?.undoLost !== undefined),
  );

const withHandles = (key: SecurityKey, challenges: Challenges): SecurityKey => ({
  ...key,
  credentials: key.credentials.map((credential, index) => {
    const idpState = challengeOf(challenges, key.id, index)?.idpState;
    return idpState === undefined ? credential : { ...credential, idpState };
  }),
});

/** Ends the request also where the job has looked at it meanwhile: the delivery service's own "no" is known here alone. */
async function endRefused(loaded: LoadedRequest, reason: string, deps: ConnectorDeps): Promise<void> {
  const { id, delivery } = loaded.request.value;
  let current: LoadedRequest | undefined = loaded;
  while (current !== undefined && (await failRequest(current, reason, deps)) === undefined) {
    current = await deps.requests.load(id);
    const now = current?.request.value;
    const isOurs = now?.state === "received" && now.delivery?.sentAt === delivery?.sentAt && !now.delivery?.shipmentId;
    if (!isOurs) return;
  }
}
