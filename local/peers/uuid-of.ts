import { createHash } from "node:crypto";

/** Returns a UUID that is the same for the same text, and everywhere. */
export function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}

/** Returns the UUID of the user of a name. */
export const idOfUser = (name: string): string => uuidOf(name.toLowerCase());
