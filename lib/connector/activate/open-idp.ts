import type { PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Idp } from "../idp/contract.ts";
import type { SecurityKey } from "../model/security-key.ts";
import type { Challenge } from "../model/webauthn.ts";
import { idpStatePurpose, openSealed } from "../storage/sealed.ts";

/** A credential: its security key and its index on it. */
export interface CredentialTarget {
  readonly requestId: string;
  readonly key: SecurityKey;
  readonly index: number;
}

/** Returns the IdP of a credential and the state that the IdP needs, or why it cannot be called now. */
export async function openIdp(
  { requestId, key, index }: CredentialTarget,
  deps: Pick<ConnectorDeps, "idps" | "sealer" | "log">,
): Promise<{ readonly idp: Idp; readonly idpState: Challenge["idpState"] } | string> {
  const { idpId = "", idpState: sealed = "" } = key.credentials[index] ?? {};
  const idp = deps.idps.get(idpId);
  if (idp === undefined) return `The identity provider ${idpId} is no longer configured.`;
  const context = { requestId, keyId: key.id, purpose: idpStatePurpose(index) };
  const idpState = await openSealed<Challenge["idpState"]>(sealed, context, deps);
  return idpState === undefined ? "The stored state for the identity provider cannot be decrypted." : { idp, idpState };
}

/** Whether a call of an IdP may succeed later. */
export const isRepairable = ({ isTransient, kind, mayComeFromProxy }: PeerFailure): boolean =>
  isTransient || kind === "unauthorized" || mayComeFromProxy;
