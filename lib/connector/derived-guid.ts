import { createHash } from "node:crypto";

/** Returns a GUID that is derived from a text. It is the same for the same text, also after a crash and on another host. */
export const derivedGuid = (text: string): string =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
