import * as z from "zod";
import { jsonOf, readBody } from "../read-body.ts";
import { invalid } from "./errors.ts";

const padded = z.base64("must be padded standard base64").min(1);
const activation = z.object({
  origin: z.string().min(1),
  attestation: z
    .string("must be JSON in a string")
    .transform(jsonOf)
    .pipe(
      z
        .object({
          id: z.base64url().regex(/[^=]$/, "must be base64url without padding"),
          type: z.literal("public-key"),
          rawId: padded,
          response: z.object({ clientDataJSON: padded, attestationObject: padded }),
          clientExtensionResults: z.looseObject({}),
        })
        .refine(({ id, rawId }) => base64url(rawId) === id, "id and rawId must be one"),
    ),
});

const base64url = (text: string) => Buffer.from(text, "base64").toString("base64url");

/** Parses the body that activates a device; binary values become base64url. */
export function readActivation(body: Buffer) {
  const { origin, attestation } = readBody(activation, body, reason => invalid("attestation", reason));
  const { clientDataJSON, attestationObject } = attestation.response;
  return {
    id: attestation.id,
    origin,
    clientDataJSON: base64url(clientDataJSON),
    attestationObject: base64url(attestationObject),
  };
}
