import { Fault } from "../../fault.ts";
import type { Call } from "../call.ts";
import { decode, mediaType, parseJson, readBytes } from "./read-body.ts";

/** A JSON body; 415 for another type, 400 for what is no JSON or holds ill-formed Unicode. */
export async function readJson(call: Call, limitBytes: number): Promise<unknown> {
  const bytes = await readBytes(call, limitBytes);
  const type = mediaType(call);
  if (type !== "application/json" && !/^application\/[\w.-]+\+json$/.test(type)) {
    throw new Fault("unsupported_media", "Send the body as application/json.");
  }
  return parseJson(decode(bytes));
}
