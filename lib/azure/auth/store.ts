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

/** The authentication server's rows in Table storage (docs/storage-auth.md). */
export function authStore(
  tables: Tables,
  passed: { readonly now: Now; readonly random: (bytes: number) => Uint8Array; readonly log: Log },
): AuthStore {
  const shelves = openAuthTables(tables, passed);
  return {
    users: userStore(shelves),
    attributes: attributeStore(shelves),
    otpkeys: otpKeyStore(shelves),
    sessions: sessionStore(shelves),
    throttles: throttleStore(shelves),
    addresses: addressStore(shelves),
    cleanUp: signal => cleanUp(shelves, signal),
  };
}
