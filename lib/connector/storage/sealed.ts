import { SealError, type Sealer } from "../../platform/crypto.ts";
import type { Log } from "../../platform/log.ts";

/** The row of a security key and the purpose of a value that is sealed in it. */
interface KeyValueContext {
  readonly requestId: string;
  readonly keyId: string;
  readonly purpose: string;
}

/** Returns the additional authenticated data that binds a sealed value to its row and purpose. */
const toSealContext = ({ requestId, keyId, purpose }: KeyValueContext) => ({
  table: "credentialrequests",
  row: `${requestId}/key:${keyId}`,
  purpose,
});

export const responseKeyPurpose = (index: number): string => `response-key-${index}`;
export const pinResponseKeyPurpose = "pin-response-key";
/** Who reads the state of kind C could continue the journey. */
export const idpStatePurpose = (index: number): string => `idp-state-${index}`;

/** Returns a value as JSON, sealed for its row and purpose. */
export const seal = (value: object, context: KeyValueContext, sealer: Sealer): Promise<string> =>
  sealer.seal(JSON.stringify(value), toSealContext(context));

/**
 * Returns the value that was sealed in a security key's row. Returns undefined, with an error event, if it does not
 * open: its key version may be missing in the vault, and what does not need this value must not wait for it.
 * @typeParam T the type of the value that was sealed
 */
export async function openSealed<T>(
  sealed: string,
  context: KeyValueContext,
  { sealer, log }: { readonly sealer: Sealer; readonly log: Log },
): Promise<T | undefined> {
  try {
    return JSON.parse(await sealer.open(sealed, toSealContext(context)));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    const { requestId: credentialRequestId, ...fields } = context;
    log.error("sealed_value_unreadable", { credentialRequestId, ...fields, error });
    return undefined;
  }
}
