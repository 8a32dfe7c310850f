import { createHmac } from "node:crypto";

/** The parts of a message that are signed. */
interface Message {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * Returns the headers of a message by the scheme of Standard Webhooks, with one signature for each secret. A receiver
 * accepts the message if any signature is right. Throws if the current secret does not have the form of Standard
 * Webhooks; the error does not quote the secret. Omits a former secret of another form, which was set by mistake.
 * @param secrets each `whsec_` and base64, the current one first
 */
export function signatureHeaders({ id, timestamp, body }: Message, secrets: readonly string[]): Record<string, string> {
  const [current, ...former] = secrets.map(signingKey);
  if (current === undefined)
    throw new Error("The signing secret of an event sink is not whsec_ with 24 to 64 bytes in base64.");
  const signatures = [current, ...former.filter(key => key !== undefined)].map(key => {
    const mac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`);
    return `v1,${mac.digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}

/**
 * Returns the key of a secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64; undefined for any other
 * text.
 */
function signingKey(secret: string): Uint8Array | undefined {
  const [, encoded = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim()) ?? [];
  const key = Buffer.from(encoded, "base64");
  return key.length < 24 || key.length > 64 ? undefined : key;
}
