import * as z from "zod";

export interface AicOutcome {
  /** base64url, as all binary values. */
  readonly id: string;
  readonly clientDataJSON: string;
  readonly attestationObject: string;
  readonly deviceName: string;
}

const wrapped = z.object({ authenticatorAttachment: z.string(), legacyData: z.string() });

/** Parses the value of the hidden callback; undefined if it is not an outcome. @param json whether it must be JSON */
export function readOutcome(text: string, json: boolean): AicOutcome | undefined {
  const legacy = json ? unwrapped(text) : text;
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

function unwrapped(text: string): string | undefined {
  try {
    return wrapped.parse(JSON.parse(text)).legacyData;
  } catch {
    return undefined;
  }
}
