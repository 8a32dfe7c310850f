import type { Tables } from "../platform/azure/tables.ts";
import { attributeTable } from "./attributes/attributes.table.ts";
import { removeExpiredRows } from "./clean-up.table.ts";
import { otpKeyTable } from "./otpkeys/otpkeys.table.ts";
import { sessionTable } from "./sessions/sessions.table.ts";
import { addressTable } from "./sign-in/addresses.table.ts";
import { throttleTable } from "./sign-in/throttles.table.ts";
import { openAuthTables, type StorageDeps } from "./tables.table.ts";
import { userTable } from "./users/users.table.ts";

/** Storage of the authentication server. */
export type AuthStore = ReturnType<typeof authStore>;

/** Opens the storage of the authentication server in Table storage (docs/storage-auth.md). */
export function authStore(tables: Tables, deps: StorageDeps) {
  const opened = openAuthTables(tables, deps);
  return {
    users: userTable(opened),
    attributes: attributeTable(opened),
    otpkeys: otpKeyTable(opened),
    sessions: sessionTable(opened),
    throttles: throttleTable(opened),
    addresses: addressTable(opened),
    /** Deletes expired rows and what unfinished calls have left. Stops at the signal; the next run continues. */
    cleanUp: (signal?: AbortSignal) => removeExpiredRows(opened, signal),
  };
}
