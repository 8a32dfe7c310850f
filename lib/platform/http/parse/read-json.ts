import { Fault } from "../../fault.ts";
import type { Call } from "../call.ts";
import { decodeUtf8, mediaType, parseJson, readBytes } from "./read-body.ts";

/** Returns the value of a JSON body. Throws Fault `unsupported_media` for another content type, `invalid`, and as `readBytes` does. */
export async function readJson(call: Call, limitBytes: number): Promise<unknown> {
  const bytes = await readBytes(call, limitBytes);
  const type = mediaType(call);
  if (type !== "application/json" && !/^application\/[\w.-]+\+json$/.test(type)) {
    throw new Fault("unsupported_media", "Send the body as application/json.");
  }
  return parseJson(decodeUtf8(bytes));
}
