import { createHash } from "node:crypto";

/** Returns the SHA-256 of a text in base64url, for a key, which limits length and characters, or for a secret. */
export const hashOf = (text: string): string => createHash("sha256").update(text, "utf8").digest("base64url");
