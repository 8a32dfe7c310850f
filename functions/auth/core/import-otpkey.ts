import * as z from "zod";
import { importKey } from "../../../lib/auth/manage-otpkeys.ts";
import { otpKindNames } from "../../../lib/auth/otp/kinds.ts";
import { parsePrefix } from "../../../lib/auth/prefix.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { otpkeyView, viewKey } from "../views.ts";

const optional = <T extends z.ZodType>(schema: T) => z.preprocess(value => value ?? undefined, schema.optional());
const hex = z
  .string()
  .regex(/^([0-9A-Fa-f]{2})+$/, { error: "must be in hex" })
  .transform(text => new Uint8Array(Buffer.from(text, "hex")));
const wholeNumber = z
  .union([
    z.int(),
    z
      .string()
      .regex(/^[0-9]{1,15}$/, { error: "must be a whole number" })
      .transform(Number),
  ])
  .meta({ type: "integer" });
const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform(text => text === "true")]);

/** Base32 of RFC 4648, in any case; blanks, dashes and padding are dropped. */
const base32 = z.string().transform((text, context) => {
  const symbols = text.replace(/[\s=-]/g, "").toUpperCase();
  if (!/^[A-Z2-7]+$/.test(symbols)) {
    context.addIssue({ code: "custom", message: "must be in Base32" });
    return z.NEVER;
  }
  const bits = [...symbols]
    .map(symbol => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(symbol).toString(2).padStart(5, "0"))
    .join("");
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], octet => Number.parseInt(octet, 2));
});

const body = z
  .object({
    prefix: z.string().transform((text, context) => {
      const prefix = parsePrefix(text);
      if (prefix !== undefined) return prefix;
      context.addIssue({ code: "custom", message: "must be 1 to 32 letters and digits" });
      return z.NEVER;
    }),
    kind: optional(z.enum(otpKindNames)).describe("Absent: a key without a secret."),
    secret: optional(hex).describe("Secret in hex."),
    secret_base32: optional(base32).describe("Secret of an OATH kind in Base32."),
    private_id: optional(hex).describe("Private id of kind `yubico` in hex."),
    digits: optional(wholeNumber).describe("Length of the codes: 6 or 8."),
    counter: optional(wholeNumber).describe("Least counter that passes."),
    replace: optional(flag).describe("Take the place of another secret."),
  })
  .refine(({ secret, secret_base32 }) => secret === undefined || secret_base32 === undefined, {
    path: ["secret_base32"],
    error: "must not be given beside secret",
  });

/** Beyond the specification: decision A10. The secret is in no answer and no log. */
export const importOtpkey = endpoint({
  routes: ["POST /otpkeys"],
  access: "caller",
  summary: "Import an otpkey with its secret",
  body,
  answers: {
    201: { description: "Imported.", schema: otpkeyView },
    200: { description: "The same secret was there; no counter goes down.", schema: otpkeyView },
  },
  handle: async ({ body }, context: AuthContext) => {
    const { secret, secret_base32, private_id, replace = false, ...rest } = body;
    const imported = { ...rest, secret: secret ?? secret_base32, privateId: private_id, replace };
    const { key, isNew } = await importKey(imported, context);
    const attributes = isNew ? {} : ((await context.otpkeys.view(key.prefix))?.attributes ?? {});
    return { status: isNew ? 201 : 200, body: viewKey(key, attributes) };
  },
});
