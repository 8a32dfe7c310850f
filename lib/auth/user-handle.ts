import { createHash } from "node:crypto";

/**
 * Stands for a folded name wherever a fixed length or harmless characters are needed, also where nobody has the name (decision
 * A20): base64url of its SHA-256, 43 characters.
 */
export const userHandle = (folded: string): string => createHash("sha256").update(folded, "utf8").digest("base64url");
