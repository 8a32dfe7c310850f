import * as z from "zod";
import { wrongFields } from "../security-key/exchange-format.ts";
import { badRequest } from "./errors.ts";

const binary = z.string().regex(/^[A-Za-z0-9_-]+$/, "must be base64url without padding");

const registration = z.object({
  displayName: z.string().min(1).max(30).optional(),
  publicKeyCredential: z.object({
    id: binary,
    response: z.object({ clientDataJSON: binary, attestationObject: binary }),
    clientExtensionResults: z.looseObject({}).optional(),
  }),
});

const clientData = z.looseObject({ challenge: binary });

export interface Registration {
  readonly displayName: string | undefined;
  readonly id: string;
  readonly clientDataJSON: string;
  readonly attestationObject: string;
  /** As in the client data. */
  readonly challenge: string;
}

/** Parses the body that registers a key. Throws `GraphError` 400. */
export function readRegistration(body: Buffer): Registration {
  const parsed = registration.safeParse(jsonOf(body));
  if (!parsed.success) throw badRequest(wrongFields(parsed.error));
  const { displayName, publicKeyCredential } = parsed.data;
  const { id, response } = publicKeyCredential;
  const data = clientData.safeParse(jsonOf(Buffer.from(response.clientDataJSON, "base64url")));
  if (!data.success) throw badRequest("The client data has no challenge.");
  return { displayName, id, ...response, challenge: data.data.challenge };
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw badRequest("Unable to read JSON request payload.");
  }
}
