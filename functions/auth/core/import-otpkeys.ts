import * as z from "zod";
import { importKey, importKeys } from "../../../lib/auth/otpkeys/import-keys.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { ofKeys, prefixField } from "../inputs.ts";
import { otpkeyView, toOtpkeyView } from "../views.ts";
import { importEach, outcomeFields } from "./import-each.ts";
import { importFields, importFieldsId, toImportedKey } from "./import-fields.ts";

export const importOtpkey = endpoint({
  ...ofKeys,
  routes: ["POST /otpkeys"],
  role: "import",
  summary: "Import an otpkey with its secret",
  description:
    "Stores the secret of an OTP key, so that its OTPs can be checked. `kind` says how the key makes codes: " +
    "`hotp` (RFC 4226), `totp` (RFC 6238), `yubico` (Yubico OTP), or `remote`, whose codes a validation server " +
    "checks. A repeated call with the same secret responds 200: it sets `digits`, `period` and `algorithm` if given, " +
    "and raises the counter to a higher `counter`. With `replace=true` and `counter` it sets the counter, also to a " +
    "lower value: then used OTPs are accepted again. `drift` of an existing otpkey is set only with `replace=true`. Another secret for an existing prefix is refused with 409 " +
    "unless `replace=true`. The secret is in no response and in no log. `valid_from` and `valid_until` limit the " +
    "time in which OTPs are accepted; for an existing otpkey only the given limit changes. With `username` the " +
    "otpkey is also assigned to that user; an unknown username is refused with 400. A refused import changes no existing " +
    "otpkey. An API token of the role `import` changes no limit, `digits`, `period` or `algorithm` of an existing otpkey, raises " +
    "its counter no further than a sign-in tolerates, and assigns no otpkey that another user has: 403.",
  body: importFields,
  answers: {
    201: { description: "Imported.", schema: otpkeyView },
    200: {
      description:
        "The otpkey exists: the same secret was imported again, or `replace` replaced the secret or set the counter.",
      schema: otpkeyView,
    },
  },
  refusals: ["conflict"],
  handle: async ({ body }, context: AuthContext, { caller }) => {
    const { key, isNew, isCreated } = await importKey(toImportedKey(body, caller), context);
    const stored = isCreated ? undefined : await context.otpkeys.view(key.prefix);
    return {
      status: isNew ? 201 : 200,
      body: toOtpkeyView(key, stored?.attributes ?? {}, { caller, now: context.now() }),
    };
  },
});

/** Each OTP key is a write of its own, so the number bounds the duration of a call (A10). */
const maxKeys = 100;

const body = z.lazy(() =>
  z.object({
    // The elements are parsed one by one, after their number was checked.
    otpkeys: z
      .array(z.unknown().meta({ shownAs: { $ref: `#/components/schemas/${importFieldsId}` } }))
      .min(1)
      .max(maxKeys)
      .describe("The OTP keys, each with the fields of `POST /otpkeys`."),
  }),
);

const result = z.lazy(() =>
  z
    .object({
      index: z.int().min(0).describe("Position of the OTP key in `otpkeys`, from 0."),
      prefix: z.string().optional().describe("The prefix of the OTP key. Absent if it cannot be read."),
      status: z
        .union([200, 201, 400, 403, 409, 500].map(status => z.literal(status)))
        .describe("The status with which `POST /otpkeys` would have answered."),
      ...outcomeFields(),
    })
    .meta({ id: "OtpKeyImportResult" }),
);

export const importOtpkeys = endpoint({
  ...ofKeys,
  routes: ["POST /otpkeys/batch"],
  role: "import",
  summary: "Import up to 100 otpkeys with their secrets",
  description:
    "Imports a list of OTP keys. Send it as JSON. Each element has the fields of `POST /otpkeys`, with the same rules, " +
    "and is imported completely or not at all; a new OTP key whose user is deleted meanwhile has none. The response " +
    "is 200, with the result of each element in the order of the list; an element that is refused does not stop the " +
    "others. If several elements have one prefix, only the first counts. After a 503, or without a response, some OTP " +
    "keys may be imported: repeat the call with the same list. That completes it and imports nothing twice; OTP keys " +
    "of the first call then have the status 200.",
  body,
  answers: {
    200: {
      description: "The result of each OTP key.",
      schema: z.lazy(() => z.object({ results: z.array(result) }).meta({ id: "OtpKeyImportResults" })),
    },
  },
  handle: async ({ body: { otpkeys } }, context: AuthContext, { caller }) => {
    const results = await importEach(otpkeys, {
      field: "prefix",
      name: prefixField.transform(prefix => ({ name: prefix, folded: prefix })),
      schema: importFields,
      importAll: all =>
        importKeys(
          all.map(fields => toImportedKey(fields, caller)),
          context,
        ),
    });
    return ok({ results });
  },
});
