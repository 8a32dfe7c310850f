import * as z from "zod";
import { jsonOf, readBody } from "../read-body.ts";
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

export type Registration = ReturnType<typeof readRegistration>;

/** Parses the body that registers a key. The challenge is that of the client data. */
export function readRegistration(body: Buffer) {
  const { displayName, publicKeyCredential } = readBody(registration, body, badRequest);
  const { id, response } = publicKeyCredential;
  const { data } = clientData.safeParse(jsonOf(Buffer.from(response.clientDataJSON, "base64url")));
  if (data === undefined) throw badRequest("The client data has no challenge.");
  return { displayName, id, ...response, challenge: data.challenge };
}
