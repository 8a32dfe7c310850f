import type { AuthStore } from "../../auth/store.ts";
import type { Log } from "../../log.ts";
import type { Now } from "../../time.ts";
import type { Tables } from "../tables/tables.ts";
import { attributeStore } from "./attributes.ts";
import { cleanUp } from "./clean-up/clean-up.ts";
import { otpKeyStore } from "./otpkeys.ts";
import { openAuthTables } from "./rows/tables.ts";
import { sessionStore } from "./sessions.ts";
import { addressStore, throttleStore } from "./throttles.ts";
import { userStore } from "./users.ts";

/** Opens the storage of the authentication server in Table storage (docs/storage-auth.md). */
export function authStore(
  tables: Tables,
  passed: { readonly now: Now; readonly random: (bytes: number) => Uint8Array; readonly log: Log },
): AuthStore {
  const opened = openAuthTables(tables, passed);
  return {
    users: userStore(opened),
    attributes: attributeStore(opened),
    otpkeys: otpKeyStore(opened),
    sessions: sessionStore(opened),
    throttles: throttleStore(opened),
    addresses: addressStore(opened),
    cleanUp: signal => cleanUp(opened, signal),
  };
}
