import * as z from "zod";
import { AAGUIDS, type AuthenticatorKind } from "../security-key/authenticator-keys.ts";

export const AUTHENTICATOR_KINDS = Object.keys(AAGUIDS) as [AuthenticatorKind, ...AuthenticatorKind[]];

/** Who chooses the PIN, and who gets it. */
const ENTRY_METHODS = ["generated", "user_entered"] as const;
const DELIVERY_METHODS = ["none", "app", "email"] as const;

/** The ids that the connector may choose. */
export const requestId = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 of A-Z a-z 0-9 . _ -");

const text = z.string().min(1, "is required");

/** The body that requests an authenticator. It must not have members that the contract does not name. */
export const requestBody = z
  .strictObject({
    recipient: z.strictObject({ external_id: text, email: text, first_name: z.string(), last_name: z.string() }),
    emails_to: z.array(text).min(1),
    name: text,
    customization_id: text.optional(),
    preferred_authenticator_type: z.enum(AUTHENTICATOR_KINDS),
    expires_at: z.iso.datetime(),
    pin: z
      .strictObject({
        min_length: z.int().min(4).max(63),
        entry_method: z.enum(ENTRY_METHODS),
        delivery_method: z.enum(DELIVERY_METHODS),
      })
      .optional(),
    pin_request: text.optional(),
    credential_requests: z.array(z.string()).min(1).max(20),
  })
  .refine(
    ({ pin, pin_request }) =>
      (pin_request !== undefined) === (pin?.entry_method === "generated" && pin.delivery_method === "email"),
    { path: ["pin_request"], error: "must be given exactly where a generated PIN is delivered by email" },
  );

export type RequestBody = z.output<typeof requestBody>;
