import * as z from "zod";
import {
  type Attributes,
  attributeLimits,
  parseAttributeKey,
  parseAttributeValue,
  withAttribute,
} from "../../../lib/auth/attributes/attributes.ts";
import { parseImportedHash } from "../../../lib/auth/passwords/imported-hash.ts";
import { maxAssignedKeys } from "../../../lib/auth/store.ts";
import { importUsers as importAll } from "../../../lib/auth/users/import-users.ts";
import { invalidRequest, type Problem } from "../../../lib/platform/fault.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import { problemsOf, safeParse } from "../../../lib/platform/http/problems.ts";
import type { AuthContext } from "../context.ts";
import { ofUsers, optionalFlag, optionalInput, parsed, prefixField, usernameField } from "../inputs.ts";
import { importEach, outcomeFields } from "./import-each.ts";

/** Hashes of passwords take the time of a call: about 2 seconds of one core. */
const maxUsers = 100;

const attributesInput = () =>
  z
    .unknown()
    .transform((given, context): Attributes => {
      const refuse = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
      if (typeof given !== "object" || given === null || Array.isArray(given)) {
        refuse([], "must be an object");
        return z.NEVER;
      }
      const entries = Object.entries(given);
      // Each is added to the others, so that too many would occupy the event loop.
      if (entries.length > attributeLimits.count) {
        refuse([], `must have at most ${attributeLimits.count} attributes`);
        return z.NEVER;
      }
      let all: Attributes = {};
      for (const [key, value] of entries) {
        const parsedKey = parseAttributeKey(key);
        if (!parsedKey.ok)
          refuse([key.slice(0, attributeLimits.keyLength)], `is not an attribute: its key ${parsedKey.reason}`);
        else if (typeof value !== "string") refuse([key], "must be a text");
        else {
          const parsedValue = parseAttributeValue(value);
          const next = parsedValue.ok ? withAttribute(all, key, value) : parsedValue;
          if (next.ok) all = next.value;
          else refuse([key], next.reason);
        }
      }
      return all;
    })
    .meta({
      description: "Values of attributes by their keys.",
      shownAs: { type: "object", additionalProperties: { type: "string" } },
    });

/** Built at the first call, as few calls need it. */
const fields = z.lazy(() =>
  z
    .object({
      username: usernameField,
      password: optionalInput(z.string()).describe("The password. An empty one means no password."),
      password_hash: optionalInput(parsed(parseImportedHash, "")).describe(
        "In place of `password`: its hash as another server made it, in the format of passlib, crypt(3), bcrypt, Django or " +
          "PHC. The first sign-in replaces it.",
      ),
      attributes: optionalInput(attributesInput()),
      otpkeys: optionalInput(
        z
          .array(prefixField)
          .max(maxAssignedKeys)
          .refine(all => new Set(all).size === all.length, { error: "must have each prefix once" }),
      ).describe("Prefixes of existing OTP keys that are assigned to the user."),
      enabled: optionalFlag("False: the user is disabled; default: true."),
    })
    .meta({ id: "UserImport" }),
);

// The second one is for the OpenAPI document only.
const element = z.union([z.unknown(), fields]).meta({ shownAs: { $ref: "#/components/schemas/UserImport" } });
const body = z.object({
  // The elements are parsed one by one, after their number was checked.
  users: z.array(element).min(1).max(maxUsers).describe("The users."),
});

const result = z.lazy(() =>
  z
    .object({
      index: z.int().min(0).describe("Position of the user in `users`, from 0."),
      username: z.string().optional().describe("The name of the user. Absent if the element cannot be read."),
      id: z.int().min(1).optional().describe("The id of the user, with status 200 and 201."),
      status: z
        .union([200, 201, 400, 409, 500].map(status => z.literal(status)))
        .describe("201: created; 200: the same user was there; 400: invalid; 409: another user has the name."),
      ...outcomeFields(),
    })
    .meta({ id: "UserImportResult" }),
);

/** Imports up to 100 users, with passwords or hashes of them, attributes and OTP keys (A25). */
export const importUsers = endpoint({
  ...ofUsers,
  routes: ["POST /users/batch"],
  role: "admin",
  summary: "Import up to 100 users",
  description:
    "Creates a list of users, as they were on another server. Send it as JSON. Each user is created with password, " +
    "attributes and OTP keys, or not at all. The response is 200, with the result of each user in the order of the " +
    "list; one who is refused does not stop the others. A user who is there already does not change: the status is 200 " +
    "if the user has all that the element says, else 409. If several elements have one name, only the first counts. " +
    "After a 503, or without a response, repeat the call with the same list: that completes it.",
  body,
  answers: {
    200: {
      description: "The result of each user.",
      schema: z.object({ results: z.array(result) }).meta({ id: "UserImportResults" }),
    },
  },
  handle: async ({ body: { users } }, context: AuthContext) => {
    const firstOf = new Map<string, number>();
    const results = await importEach(users, {
      parse: (element, index) => {
        const { data, error } = safeParse(fields, element);
        if (data === undefined) throw invalidRequest([...problemsOf(error), ...credentialProblems(element)]);
        const { username, attributes = {}, otpkeys = [], enabled = true } = data;
        const first = firstOf.get(username.folded) ?? index;
        firstOf.set(username.folded, first);
        const duplicate = { path: "username", reason: `is also that of the element ${first}` };
        const problems = [...(first === index ? [] : [duplicate]), ...credentialProblems(element)];
        const password = data.password_hash ?? data.password ?? "";
        return { username, password, attributes, otpkeys, enabled, problems };
      },
      importAll: all => importAll(all, context),
      describe: ({ username }, result) => ({ username: username.name, ...("id" in result && { id: result.id }) }),
    });
    return ok({ results });
  },
});

/** Returns the problem of an element that has both fields or none of them. */
function credentialProblems(element: unknown): readonly Problem[] {
  if (typeof element !== "object" || element === null || Array.isArray(element)) return [];
  const { password, password_hash: hash } = element as z.input<typeof fields>;
  const [hasPassword, hasHash] = [password, hash].map(value => (value ?? undefined) !== undefined);
  if (hasPassword !== hasHash) return [];
  return hasHash
    ? [{ path: "password_hash", reason: "must not be given together with password" }]
    : [{ path: "password", reason: "is required" }];
}
