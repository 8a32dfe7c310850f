import { createHash, createHmac } from "node:crypto";
import type { HttpCall } from "../../../commands/http-exchange.ts";

/**
 * Returns whether the call is signed with the access key (base64) as Azure Communication Services requires: over method, path
 * with query, and the named headers, including the hash of the body.
 */
export function isSigned({ method, url, headers, body }: HttpCall, accessKey: string): boolean {
  const [, names = "", signature] =
    /^HMAC-SHA256 SignedHeaders=([^&]+)&Signature=(.+)$/.exec(headers.authorization ?? "") ?? [];
  const signed = names.toLowerCase().split(";");
  const dated = signed.includes("x-ms-date") || signed.includes("date");
  if (!dated || !signed.includes("host") || !signed.includes("x-ms-content-sha256")) return false;
  if (createHash("sha256").update(body).digest("base64") !== headers["x-ms-content-sha256"]) return false;
  const values = signed.map(name => String(headers[name] ?? "")).join(";");
  const expected = createHmac("sha256", Buffer.from(accessKey, "base64"))
    .update(`${method}\n${url.pathname}${url.search}\n${values}`)
    .digest("base64");
  return expected === signature;
}
