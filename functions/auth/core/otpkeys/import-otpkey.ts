import { checkImport, importKey } from "../../../../lib/auth/otpkeys/import-key.ts";
import { assignImported } from "../../../../lib/auth/otpkeys/import-keys.ts";
import { findOwnerProblem, prefixesOf, requireValidImport } from "../../../../lib/auth/otpkeys/imported-key.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../../context.ts";
import { otpkeyView, toOtpkeyView } from "../../views.ts";
import { importFields, problemsOfRefused, toImportedKey } from "./import-fields.ts";

/** Imports an OTP key. The secret is in no response and no log. */
export const importOtpkey = endpoint({
  routes: ["POST /otpkeys"],
  access: "caller",
  role: "import",
  tag: "OTP keys",
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
  alsoCheck: ({ body }) => problemsOfRefused(body),
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
    const { owner, ...imported } = toImportedKey(body, caller);
    const { users, otpkeys } = context;
    const [user, existing] = await Promise.all([owner && users.find(owner), owner && otpkeys.find(imported.prefix)]);
    const ownerProblem = owner && findOwnerProblem(user && prefixesOf(user.value), imported.prefix);
    requireValidImport(imported, { ownerProblem });
    const assign = async () => owner && assignImported(imported, owner, context);
    // An OTP key that exists is checked first, then assigned, then changed: an import that is refused changes nothing.
    if (existing !== undefined) {
      await checkImport(imported, context);
      await assign();
    }
    const { key, isNew, isCreated } = await importKey(imported, context);
    const [view] = await Promise.all([
      isCreated ? undefined : otpkeys.view(key.prefix),
      existing === undefined && assign(),
    ]);
    return { status: isNew ? 201 : 200, body: toOtpkeyView(key, view?.attributes ?? {}, caller) };
  },
});
