import type { Sealer } from "../../seal.ts";
import type { Credential, Key } from "../model/request.ts";
import type { Challenge } from "../model/webauthn.ts";
import { handlePurpose, sealPlace } from "./seal-contexts.ts";

/**
 * What an IdP needs to go on with a credential, as its key's row keeps it (decision G8): whoever has the step of a journey of kind C may
 * go on with it.
 */
export const sealHandle = (
  requestId: string,
  keyId: string,
  index: number,
  handle: Challenge["handle"],
  sealer: Sealer,
): Promise<string> => sealer.seal(JSON.stringify(handle), sealPlace(requestId, keyId, handlePurpose(index)));

/** What was sealed, and what an earlier version kept as it was (decision G12). Throws what opening throws. */
export async function openHandle(
  requestId: string,
  keyId: string,
  index: number,
  stored: NonNullable<Credential["handle"]>,
  sealer: Sealer,
): Promise<Challenge["handle"]> {
  if (typeof stored !== "string") return stored;
  return JSON.parse(await sealer.open(stored, sealPlace(requestId, keyId, handlePurpose(index))));
}

/** The key with every handle of its credentials sealed. */
export async function withSealedHandles(requestId: string, key: Key, sealer: Sealer): Promise<Key> {
  const credentials = key.credentials.map(async (credential, index) => {
    const { handle } = credential;
    if (handle === undefined || typeof handle === "string") return credential;
    return { ...credential, handle: await sealHandle(requestId, key.id, index, handle, sealer) };
  });
  return { ...key, credentials: await Promise.all(credentials) };
}
