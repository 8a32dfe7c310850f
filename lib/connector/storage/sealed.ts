import { SealError, type Sealer } from "../../platform/crypto.ts";
import type { Log } from "../../platform/log.ts";
import type { Challenge } from "../model/webauthn.ts";

/** Returns the additional authenticated data that binds a sealed value to its row and purpose. */
export const sealContext = (requestId: string, keyId: string, purpose: string) => ({
  table: "credentialrequests",
  row: `${requestId}/key:${keyId}`,
  purpose,
});

export const responseKeyPurpose = (index: number): string => `response-key-${index}`;
export const pinResponseKeyPurpose = "pin-response-key";
const idpStatePurpose = (index: number): string => `idp-state-${index}`;

interface OpenDeps {
  readonly sealer: Sealer;
  readonly log: Log;
}

/**
 * Returns the JSON of a value sealed in a security key's row. Returns undefined, with an error event, if it does not
 * open: its key version may be missing in the vault, and what does not need this value must not wait for it.
 * @param context what `sealContext` makes the additional authenticated data of
 * @typeParam T the type of the value that was sealed
 */
export async function openSealed<T>(
  sealed: string,
  context: { readonly requestId: string; readonly keyId: string; readonly purpose: string },
  { sealer, log }: OpenDeps,
): Promise<T | undefined> {
  const { requestId, keyId, purpose } = context;
  try {
    return JSON.parse(await sealer.open(sealed, sealContext(requestId, keyId, purpose)));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    log.error("sealed_value_unreadable", { credentialRequestId: requestId, keyId, purpose, error });
    return undefined;
  }
}

/** Returns an IdP state sealed for its row. Who reads the state of kind C could continue the journey. */
export const sealIdpState = (
  requestId: string,
  keyId: string,
  index: number,
  idpState: Challenge["idpState"],
  sealer: Sealer,
): Promise<string> => sealer.seal(JSON.stringify(idpState), sealContext(requestId, keyId, idpStatePurpose(index)));

/** Returns the opened IdP state, or undefined if it does not open. */
export const openIdpState = (
  requestId: string,
  keyId: string,
  index: number,
  sealed: string,
  deps: OpenDeps,
): Promise<Challenge["idpState"] | undefined> =>
  openSealed(sealed, { requestId, keyId, purpose: idpStatePurpose(index) }, deps);
