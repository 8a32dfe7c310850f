import type { AuthStore } from "../auth/ports.ts";
import type { Log } from "../log.ts";
import type { Now } from "../time.ts";
import { attributeStore } from "./auth-attributes.ts";
import { cleanUp } from "./auth-clean-up.ts";
import { otpKeyStore } from "./auth-otpkeys.ts";
import { sessionStore } from "./auth-sessions.ts";
import { openShelves } from "./auth-shelves.ts";
import { addressStore, throttleStore } from "./auth-throttles.ts";
import { userStore } from "./auth-users.ts";
import type { Tables } from "./tables.ts";

/** The authentication server's rows in Table storage (docs/storage-auth.md). */
export function authStore(
  tables: Tables,
  passed: { readonly now: Now; readonly random: (bytes: number) => Uint8Array; readonly log: Log },
): AuthStore {
  const shelves = openShelves(tables, passed);
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
