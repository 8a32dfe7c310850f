import { SealError } from "../../platform/seal.ts";
import type { ConnectorDeps } from "../deps.ts";
import { sealContext } from "./seal-contexts.ts";

/**
 * Returns the JSON text of a value sealed in a security key's row. Returns undefined, with an error event, if it does not open: its key
 * version may be missing in the vault, and what does not need this value must not wait for it.
 * @param context what `seal-contexts.ts` makes the additional authenticated data of; `purpose` is one of that file
 */
export async function openSealed(
  sealed: string,
  context: { readonly requestId: string; readonly keyId: string; readonly purpose: string },
  { sealer, log }: Pick<ConnectorDeps, "sealer" | "log">,
): Promise<string | undefined> {
  const { requestId, keyId, purpose } = context;
  try {
    return await sealer.open(sealed, sealContext(requestId, keyId, purpose));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    log.error("sealed_value_unreadable", { credentialRequestId: requestId, keyId, purpose, error });
    return undefined;
  }
}
