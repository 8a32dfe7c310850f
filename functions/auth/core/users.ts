import * as z from "zod";
import { parseAttributeKey } from "../../../lib/auth/attributes/attributes.ts";
import { parsePrefix } from "../../../lib/auth/otpkeys/prefix.ts";
import * as manage from "../../../lib/auth/users/manage-users.ts";
import { isTooLongToNormalize, parseUsername, usernameMaxCodePoints } from "../../../lib/auth/users/username.ts";
import { viewUser } from "../../../lib/auth/users/view-user.ts";
import { omitUndefined } from "../../../lib/platform/collections.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import { unknownParameters } from "../../../lib/platform/http/problems.ts";
import type { AuthContext } from "../context.ts";
import { mustChangeField, ofUser, ofUsers, optionalFlag, parsed, usernameField } from "../inputs.ts";
import { futureProblems, listReply, notFromLink, otherParameters, pageSize, pastTime } from "../paging.ts";
import { noContentAfter, toUserView, userSummary, userView } from "../views.ts";

const body = z.lazy(() =>
  z.object({
    username: parsed(
      parseUsername,
      "Unique, ignoring case. Must not contain `/`, `\\`, `?`, `#`, `%2F`, or `%80` to `%FF`.",
    ),
    password: z.string().meta({ description: "The password. An empty one means no password." }),
    must_change: mustChangeField,
  }),
);

export const createUser = endpoint({
  ...ofUsers,
  routes: ["POST /users"],
  role: "admin",
  summary: "Create a user",
  description:
    "Creates a user with a username and a password. The username must be unique, ignoring case. An empty password " +
    "means that the user cannot sign in with a password. With `must_change` the user has to change it before the first " +
    "session. `Location` is the URL of the new user.",
  body,
  answers: { 201: { description: "The user is created.", headers: ["location"], schema: userSummary } },
  refusals: ["conflict"],
  check: ({ username, password, must_change: mustChange }, { rules }: AuthContext) =>
    manage.passwordProblems({ password, mustChange, name: username?.name }, rules),
  handle: async ({ body }, context: AuthContext, { call }) => {
    const { must_change: mustChange = false, ...given } = body;
    const created = await manage.createUser({ ...given, mustChange }, context);
    if (created === undefined) throw manage.nameTaken();
    const { id, name } = created;
    return { status: 201, headers: { location: `${context.coreUrl(call.url)}/users/${id}` }, body: { id, name } };
  },
});

/** Beginning of usernames. Not trimmed at the end, because names can contain spaces. */
const namePrefix = z.lazy(() =>
  z
    .string()
    .transform(text => text.trimStart())
    .refine(text => text !== "", { error: "must not be empty" })
    .refine(text => !isTooLongToNormalize(text, usernameMaxCodePoints), {
      error: `must have at most ${usernameMaxCodePoints} characters`,
    }),
);

const isNamePosition = (text: string): boolean => /^[0-9a-f]{2,480}-[0-9]{16}$/.test(text);

const isId = (text: string): boolean =>
  /^[0-9]{1,16}$/.test(text) && Number(text) >= 1 && Number.isSafeInteger(Number(text));

const isAttributeKey = (text: string): boolean => parseAttributeKey(text).ok;

const query = z.lazy(() =>
  z
    .object({
      otpkey: z.string().optional().describe("Prefix of an assigned otpkey."),
      $top: pageSize,
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
    .describe("Every other parameter is an attribute's key with its value."),
);

export const listUsers = endpoint({
  ...ofUsers,
  routes: ["GET /users"],
  role: "read",
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
  check: ({ $prefix, $skiptoken, $unused_since: unusedSince }, { now }: AuthContext, { call, isWrong }) => [
    ...($skiptoken === undefined || isWrong("$prefix") || ($prefix === undefined ? isId : isNamePosition)($skiptoken)
      ? []
      : [{ path: "$skiptoken", reason: notFromLink }]),
    ...futureProblems("$unused_since", unusedSince, now()),
    // If one were ignored, a complete list would look filtered.
    ...unknownParameters(
      query,
      Object.fromEntries(otherParameters(call, query).filter(([name]) => name.startsWith("$"))),
    ),
  ],
  handle: async ({ query: given }, context: AuthContext, { call }) => {
    const { users, coreUrl } = context;
    const { otpkey, $prefix, $enabled: enabled, $password, $unused_since: unusedSince, $top, $skiptoken } = given;
    const attributes = new Map(otherParameters(call, query));
    const prefix = otpkey === undefined ? undefined : parsePrefix(otpkey);
    // No OTP key can have the prefix, or no attribute the key, so no user matches. Storage refuses to look for some of
    // them.
    const isImpossible =
      (otpkey !== undefined && prefix === undefined) || ![...attributes.keys()].every(isAttributeKey);
    if (isImpossible) return ok([]);
    const filter = {
      attributes,
      ...omitUndefined({
        beginning: $prefix,
        otpkey: prefix,
        enabled,
        unusedSince,
        hasImportedPassword: $password && true,
      }),
    };
    return listReply(call, { $top, $skiptoken }, `${coreUrl(call.url)}/users`, range => users.list(range, filter));
  },
});

export const getUser = endpoint({
  ...ofUser,
  routes: ["GET /users/{user}"],
  role: "read",
  summary: "View a user",
  description:
    "Returns the user with attributes and the prefixes of all assigned OTP keys, and why the last refused sign-in " +
    "failed. The password is never returned.",
  answers: { 200: { description: "The user.", schema: userView } },
  handle: async ({ params }, context: AuthContext, { caller }) => {
    const { user, lock } = await viewUser(params.user, context);
    return ok(toUserView(user, lock, { caller, now: context.now() }));
  },
});

export const renameUser = endpoint({
  ...ofUser,
  routes: ["POST /users/{user}/rename"],
  role: "admin",
  summary: "Rename a user",
  description:
    "Gives a user another username, and ends the sessions of the user. Id, password, attributes, otpkeys and the time " +
    "of the last sign-in stay. A name that is the user's password is refused with 400. The former username is free at once; its next owner inherits nothing. Failed attempts " +
    "against either name do not count for the user any more.",
  body: z.object({ username: usernameField }),
  answers: { 200: { description: "The user is renamed.", schema: userSummary } },
  refusals: ["conflict"],
  handle: async ({ params, body }, context: AuthContext) => {
    const { id, name } = await manage.renameUser(params.user, body.username, context);
    return { status: 200, body: { id, name } };
  },
});

export const deleteUser = endpoint({
  ...ofUser,
  routes: ["DELETE /users/{user}", "POST /users/{user}/delete"],
  role: "admin",
  summary: "Delete a user with attributes, assignments and sessions",
  description:
    "Deletes the user with all attributes, and ends the user's sessions. The OTP keys of the user stay, without " +
    "the assignment to the user.",
  answers: { 204: { description: "Done." } },
  handle: ({ params }, context: AuthContext) => noContentAfter(manage.deleteUser(params.user, context)),
});
