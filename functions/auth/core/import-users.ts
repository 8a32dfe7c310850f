import * as z from "zod";
import {
  type Attributes,
  attributeLimits,
  limitProblem,
  parseAttributeKey,
  parseAttributeValue,
} from "../../../lib/auth/attributes/attributes.ts";
import { parseImportedHash } from "../../../lib/auth/passwords/imported-hash.ts";
import { maxAssignedKeys } from "../../../lib/auth/store.ts";
import { importUsers as importAll } from "../../../lib/auth/users/import-users.ts";
import { ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
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
      if (entries.length > attributeLimits.count) {
        refuse([], `must have at most ${attributeLimits.count} attributes`);
        return z.NEVER;
      }
      for (const [key, value] of entries) {
        const reason = attributeProblem(key, value);
        if (reason !== undefined) refuse([key.slice(0, attributeLimits.keyLength)], reason);
      }
      const problem = context.issues.length > 0 ? undefined : limitProblem(given as Attributes);
      if (problem !== undefined) refuse([], problem);
      return given as Attributes;
    })
    .meta({
      description: "Values of attributes by their keys.",
      shownAs: { type: "object", additionalProperties: { type: "string" } },
    });

function attributeProblem(key: string, value: unknown): string | undefined {
  const parsedKey = parseAttributeKey(key);
  if (!parsedKey.ok) return `is not an attribute: its key ${parsedKey.reason}`;
  if (typeof value !== "string") return "must be a text";
  const parsedValue = parseAttributeValue(value);
  return parsedValue.ok ? undefined : parsedValue.reason;
}

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
    .superRefine(
      ({ password, password_hash: hash }, context) => {
        const refuse = (field: string, message: string) => context.addIssue({ code: "custom", path: [field], message });
        const isGiven = (field: string, value: unknown) =>
          value !== undefined || context.issues.some(({ path }) => path?.[0] === field);
        const [hasPassword, hasHash] = [isGiven("password", password), isGiven("password_hash", hash)];
        if (hasPassword && hasHash) refuse("password_hash", "must not be given together with password");
        if (!hasPassword && !hasHash) refuse("password", "is required");
      },
      // Also beside other problems, so that all are reported together.
      { when: ({ value }) => typeof value === "object" && value !== null },
    )
    .meta({ id: "UserImport" }),
);

// The second one is for the OpenAPI document only.
const element = z.lazy(() =>
  z.union([z.unknown(), fields]).meta({ shownAs: { $ref: "#/components/schemas/UserImport" } }),
);
const body = z.lazy(() =>
  z.object({
    // The elements are parsed one by one, after their number was checked.
    users: z.array(element).min(1).max(maxUsers).describe("The users."),
  }),
);

const result = z.lazy(() =>
  z
    .object({
      index: z.int().min(0).describe("Position of the user in `users`, from 0."),
      username: z.string().optional().describe("The name of the user. Absent if it cannot be read."),
      id: z.int().min(1).optional().describe("The id of the user, with status 200 and 201."),
      status: z
        .union([200, 201, 400, 409, 500].map(status => z.literal(status)))
        .describe("201: created; 200: the same user was there; 400: invalid; 409: another user has the name."),
      ...outcomeFields(),
    })
    .meta({ id: "UserImportResult" }),
);

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
      schema: z.lazy(() => z.object({ results: z.array(result) }).meta({ id: "UserImportResults" })),
    },
  },
  handle: async ({ body: { users } }, context: AuthContext) => {
    const results = await importEach(users, {
      field: "username",
      name: usernameField,
      schema: fields,
      importAll: all =>
        importAll(
          all.map(
            ({ username, password_hash: hash, password = "", attributes = {}, otpkeys = [], enabled = true }) => ({
              username,
              password: hash ?? password,
              attributes,
              otpkeys,
              enabled,
            }),
          ),
          context,
        ),
    });
    return ok({ results });
  },
});
