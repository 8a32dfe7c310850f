import * as z from "zod";
import { parseAttributeKey } from "../../../../lib/auth/attributes/attributes.ts";
import { parsePrefix } from "../../../../lib/auth/otpkeys/prefix.ts";
import { isTooLongToNormalize, usernameMaxCodePoints } from "../../../../lib/auth/users/username.ts";
import { ok } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import { omitUndefined } from "../../../../lib/platform/omit-undefined.ts";
import type { AuthContext } from "../../context.ts";
import { optionalFlag } from "../../inputs.ts";
import { listReply, notFromLink, otherParameters, paging, pastTime, requirePast } from "../../paging.ts";
import { userSummary } from "../../views.ts";

/** Beginning of usernames. Not trimmed at the end, because names can contain spaces. */
const namePrefix = z
  .string()
  .transform(text => text.trimStart())
  .refine(text => text !== "", { error: "must not be empty" })
  .refine(text => !isTooLongToNormalize(text, usernameMaxCodePoints), {
    error: `must have at most ${usernameMaxCodePoints} characters`,
  });

const isNamePosition = (text: string): boolean => /^[0-9a-f]{2,480}-[0-9]{16}$/.test(text);

const isId = (text: string): boolean =>
  /^[0-9]{1,16}$/.test(text) && Number(text) >= 1 && Number.isSafeInteger(Number(text));

const isAttributeKey = (text: string): boolean => parseAttributeKey(text).ok;

const query = z
  .object({
    otpkey: z.string().optional().describe("Prefix of an assigned otpkey."),
    $top: paging.$top,
    $skiptoken: z.string().optional().describe("Start of the page, from the link to it."),
    $prefix: namePrefix.optional().meta({
      description: "Beginning of the username, ignoring case. The list is then sorted by name.",
    }),
    $enabled: optionalFlag("Only users who are enabled, or only disabled ones."),
    $password: z
      .literal("imported")
      .optional()
      .describe("`imported`: only users who have not signed in with their password since its hash was imported."),
    $unused_since: pastTime("Only users who were created before this time and have not signed in since."),
  })
  .superRefine(({ $prefix, $skiptoken }, context) => {
    if ($skiptoken === undefined || ($prefix === undefined ? isId : isNamePosition)($skiptoken)) return;
    context.addIssue({ code: "custom", path: ["$skiptoken"], message: notFromLink });
  })
  .describe("Every other parameter is an attribute's key with its value.");

/** Lists users, all or filtered (specification section 4). */
export const listUsers = endpoint({
  routes: ["GET /users"],
  access: "caller",
  role: "read",
  tag: "Users",
  summary: "List users, all or those that match every filter: `otpkey`, and attributes by their keys",
  description:
    "Returns id and name of all users, or of those that match every filter. `otpkey` filters by an assigned OTP " +
    "key; every other parameter is the key of an attribute with its value, as in `?team=red`. `$prefix` filters by " +
    "the beginning of the username, ignoring case, and sorts by name. With `$top` the " +
    'list is paged: follow the `Link` header with `rel="next"` until there is none. A page of a filtered list ' +
    "examines at most 1,000 users, so it can have fewer entries than `$top`, even none.",
  query,
  answers: {
    200: {
      description: "Users, sorted by id, or by name with `$prefix`.",
      headers: ["link"],
      schema: z.array(userSummary),
    },
  },
  handle: async ({ query: given }, context: AuthContext, { call }) => {
    const { users, coreUrl, now } = context;
    const { otpkey, $prefix, $enabled: enabled, $password, $unused_since: unusedSince, $top, $skiptoken } = given;
    const attributes = new Map(otherParameters(call, query, name => name.startsWith("$")));
    requirePast("$unused_since", unusedSince, now());
    const prefix = otpkey === undefined ? undefined : parsePrefix(otpkey);
    // No OTP key can have the prefix, or no attribute the key, so no user matches. Storage refuses to look for some of
    // them.
    const isImpossible =
      (otpkey !== undefined && prefix === undefined) || ![...attributes.keys()].every(isAttributeKey);
    if (isImpossible) return ok([]);
    const filter = {
      attributes,
      ...omitUndefined({ otpkey: prefix, enabled, unusedSince, hasImportedPassword: $password && true }),
    };
    const address = `${coreUrl(call.url)}/users`;
    if ($prefix !== undefined) {
      return listReply(call, { $top, $skiptoken }, address, range => users.listByName($prefix, range, filter));
    }
    const after = $skiptoken === undefined ? undefined : Number($skiptoken);
    return listReply(call, { $top, $skiptoken: after }, address, range => users.list(range, filter));
  },
});
