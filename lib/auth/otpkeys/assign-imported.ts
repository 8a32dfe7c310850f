import { Fault, invalidRequest } from "../../platform/fault.ts";
import type { AuthDeps } from "../deps.ts";
import type { UserRef } from "../store.ts";
import { importKey } from "./import-key.ts";
import { type ImportedKey, unknownUsername } from "./imported-key.ts";
import { assignKey } from "./manage-otpkeys.ts";

/**
 * Assigns an imported OTP key to a user. Imports it again if it was deleted meanwhile. Throws Fault `invalid` if the
 * user was deleted since the check; `forbidden` if another user has the key and `mayShare` is false.
 */
export async function assignImported(imported: ImportedKey, owner: UserRef, deps: AuthDeps): Promise<void> {
  const create = () => importKey(imported, deps);
  try {
    await assignKey(owner, imported.prefix, deps, { onlyIfFree: !imported.mayShare, create });
  } catch (error) {
    if (!(error instanceof Fault && error.kind === "not_found")) throw error;
    throw invalidRequest([unknownUsername]);
  }
}
