/** The reason why the data of a key cannot be read: the rest of a sentence about the key. Never quotes a secret. */
export class PskcError extends Error {
  override readonly name = "PskcError";
}

/** Decodes base64 with white space. Throws PskcError. @param what name of the value */
export function bytesOfBase64(text: string, what: string): Uint8Array {
  const compact = text.replace(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) throw new PskcError(`its ${what} is no base64`);
  return new Uint8Array(Buffer.from(compact, "base64"));
}
