import type { PeerFailure } from "../../platform/peer-failure.ts";
import type { Idp } from "../idp/contract.ts";
import type { Challenge } from "../model/webauthn.ts";
import type { KeyWork } from "../runs/key-work.ts";
import { idpStatePurpose, openSealed } from "../storage/sealed.ts";

/** Returns the IdP of a credential and the state that the IdP needs, or why it cannot be called now. */
export async function openIdp(
  { loaded, key, run }: KeyWork,
  index: number,
): Promise<{ readonly idp: Idp; readonly idpState: Challenge["idpState"] } | string> {
  const { idpId = "", idpState: sealed = "" } = key.credentials[index] ?? {};
  const idp = run.idps.get(idpId);
  if (idp === undefined) return `The identity provider ${idpId} is no longer configured.`;
  const context = { requestId: loaded.request.id, keyId: key.id, purpose: idpStatePurpose(index) };
  const idpState = await openSealed<Challenge["idpState"]>(sealed, context, run);
  return idpState === undefined ? "The stored state for the identity provider cannot be decrypted." : { idp, idpState };
}

/** Whether a call of an IdP may succeed later. */
export const isRepairable = ({ isTransient, kind }: PeerFailure): boolean => isTransient || kind === "unauthorized";
