import { createHash } from "node:crypto";
import { folded } from "../idp/accounts.ts";

/** Returns the UUID of the user of a name, which is the same everywhere. */
export function idOfUser(name: string): string {
  const hex = createHash("sha256").update(folded(name)).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}
