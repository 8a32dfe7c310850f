import { createHmac } from "node:crypto";

/** The parts of a message that are signed. */
interface Message {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * Returns the headers of a message by the scheme of Standard Webhooks, with one signature for each secret. A receiver accepts the message
 * if any of them fits.
 * @param secrets each `whsec_` and base64
 */
export function signatureHeaders({ id, timestamp, body }: Message, secrets: readonly string[]): Record<string, string> {
  const signatures = secrets.map(secret => {
    const mac = createHmac("sha256", signingKey(secret)).update(`${id}.${timestamp}.${body}`);
    return `v1,${mac.digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}

/** Throws if the text is not a secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. The message has no part of it. */
function signingKey(secret: string): Uint8Array {
  const [, encoded = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim()) ?? [];
  const key = Buffer.from(encoded, "base64");
  if (key.length < 24 || key.length > 64)
    throw new Error("The signing secret of an event sink is not whsec_ with 24 to 64 bytes in base64.");
  return key;
}
