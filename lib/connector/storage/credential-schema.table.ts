import * as z from "zod";
import { callerRoles } from "../../platform/caller.ts";
import { storedInstant } from "../../platform/tables/row-schema.ts";
import { credentialStates, revocationReasons, revocationStates } from "../model/states.ts";

const text = z.string();
const isSet = z.boolean();
const count = z.int();

/** The attempts of one piece of work. */
export const retrySchema = z.object({
  attempts: count,
  nextAt: storedInstant,
  notBefore: storedInstant.exactOptional(),
  lastError: text.exactOptional(),
});

/** The authenticated caller of the API. */
export const callerSchema = z.lazy(() =>
  z.object({
    kind: z.enum(["tenant", "api_token"]),
    application: text,
    subject: text.exactOptional(),
    roles: z.array(z.enum(callerRoles)).exactOptional(),
  }),
);

/** A credential in the row of its security key. */
export const credentialSchema = z.lazy(() =>
  z.object({
    idpId: text,
    relyingPartyId: text.exactOptional(),
    userId: text,
    state: z.enum(credentialStates),
    errorMessage: text.exactOptional(),
    idpState: text.exactOptional(),
    binding: z
      .object({ challengeHash: text, origin: text, relyingPartyId: text, userVerification: isSet })
      .exactOptional(),
    challengeExpiresAt: storedInstant.exactOptional(),
    responseKey: text.exactOptional(),
    credentialId: text.exactOptional(),
    aaguid: text.exactOptional(),
    activatedAt: storedInstant.exactOptional(),
    retryableUntil: storedInstant.exactOptional(),
    triedAt: storedInstant.exactOptional(),
    refusal: z.object({ at: storedInstant, reason: text }).exactOptional(),
    retry: retrySchema.exactOptional(),
    registrationId: text.exactOptional(),
    revocation: z
      .object({
        state: z.enum(revocationStates),
        reason: z.enum(revocationReasons),
        requestedBy: callerSchema.exactOptional(),
        requestedAt: storedInstant,
        revokedAt: storedInstant.exactOptional(),
        retry: retrySchema,
      })
      .exactOptional(),
  }),
);
