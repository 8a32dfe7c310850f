import { createHash } from "node:crypto";

/** Returns a GUID that is derived from a text, so that a repetition on any host gets the same. */
export const derivedGuid = (text: string): string =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
