import type { Sealer } from "../../platform/seal.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Credential, SecurityKey } from "../model/request.ts";
import type { Challenge } from "../model/webauthn.ts";
import { openSealed } from "./open-sealed.ts";
import { idpStatePurpose, sealContext } from "./seal-contexts.ts";

/** Returns an IdP state sealed for its row. A reader of a plain step of a kind C journey could continue that journey. */
export const sealIdpState = (
  requestId: string,
  keyId: string,
  index: number,
  idpState: Challenge["idpState"],
  sealer: Sealer,
): Promise<string> => sealer.seal(JSON.stringify(idpState), sealContext(requestId, keyId, idpStatePurpose(index)));

/** Returns the opened IdP state, or undefined if it does not open. Rows of the previous schema version have it unsealed. */
export async function openIdpState(
  requestId: string,
  keyId: string,
  index: number,
  stored: NonNullable<Credential["idpState"]>,
  deps: Pick<ConnectorDeps, "sealer" | "log">,
): Promise<Challenge["idpState"] | undefined> {
  if (typeof stored !== "string") return stored;
  const opened = await openSealed(stored, { requestId, keyId, purpose: idpStatePurpose(index) }, deps);
  return opened === undefined ? undefined : JSON.parse(opened);
}

/** Returns the security key with the IdP states of its credentials sealed. */
export async function withSealedIdpStates(requestId: string, key: SecurityKey, sealer: Sealer): Promise<SecurityKey> {
  const credentials = key.credentials.map(async (credential, index) => {
    const { idpState } = credential;
    if (idpState === undefined || typeof idpState === "string") return credential;
    return { ...credential, idpState: await sealIdpState(requestId, key.id, index, idpState, sealer) };
  });
  return { ...key, credentials: await Promise.all(credentials) };
}
