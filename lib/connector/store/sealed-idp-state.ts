import type { Sealer } from "../../seal.ts";
import type { Credential, SecurityKey } from "../model/request.ts";
import type { Challenge } from "../model/webauthn.ts";
import { idpStatePurpose, sealContext } from "./seal-contexts.ts";

/**
 * What an IdP needs to go on with a credential, as its key's row keeps it (decision G8): whoever has the step of a journey of kind C may
 * go on with it.
 */
export const sealIdpState = (
  requestId: string,
  keyId: string,
  index: number,
  idpState: Challenge["idpState"],
  sealer: Sealer,
): Promise<string> => sealer.seal(JSON.stringify(idpState), sealContext(requestId, keyId, idpStatePurpose(index)));

/** What was sealed, and what an earlier version kept as it was (decision G12). Throws what opening throws. */
export async function openIdpState(
  requestId: string,
  keyId: string,
  index: number,
  stored: NonNullable<Credential["idpState"]>,
  sealer: Sealer,
): Promise<Challenge["idpState"]> {
  if (typeof stored !== "string") return stored;
  return JSON.parse(await sealer.open(stored, sealContext(requestId, keyId, idpStatePurpose(index))));
}

/** The key with every idpState of its credentials sealed. */
export async function withSealedIdpStates(requestId: string, key: SecurityKey, sealer: Sealer): Promise<SecurityKey> {
  const credentials = key.credentials.map(async (credential, index) => {
    const { idpState } = credential;
    if (idpState === undefined || typeof idpState === "string") return credential;
    return { ...credential, idpState: await sealIdpState(requestId, key.id, index, idpState, sealer) };
  });
  return { ...key, credentials: await Promise.all(credentials) };
}
