import * as z from "zod";
import { jsonOf } from "../read-body.ts";

const wrapped = z.object({ authenticatorAttachment: z.string(), legacyData: z.string() });

/** Parses the value of the hidden callback; undefined if it is not an outcome. Binary values are base64url. */
export function readOutcome(text: string) {
  const legacy = wrapped.safeParse(jsonOf(text)).data?.legacyData;
  const [clientData = "", bytes = "", id = "", deviceName = "New Security Key", ...rest] = legacy?.split("::") ?? [];
  if (!/^-?\d{1,3}(,-?\d{1,3})*$/.test(bytes) || !/^[A-Za-z0-9_-]+$/.test(id) || rest.length > 0) return undefined;
  const signed = bytes.split(",").map(Number);
  if (signed.some(byte => byte < -128 || byte > 127)) return undefined;
  return {
    id,
    clientDataJSON: Buffer.from(clientData).toString("base64url"),
    attestationObject: Buffer.from(Int8Array.from(signed)).toString("base64url"),
    deviceName,
  };
}
