import * as z from "zod";
import { attributeOf } from "../../../lib/auth/attributes/attributes.ts";
import type { AttributeOwner } from "../../../lib/auth/store.ts";
import { Fault, invalidRequest } from "../../../lib/platform/fault.ts";
import { noContent, ok } from "../../../lib/platform/http/call.ts";
import { endpoint, type RoleEndpoint, type Route } from "../../../lib/platform/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import {
  attribute,
  attributeKeyParam,
  keyParams,
  prefixParam,
  userKeyParams,
  userParam,
  userParams,
} from "../inputs.ts";
import { attributesView } from "../views.ts";

const key = { key: attributeKeyParam };

/**
 * The owners of attributes, with their base paths. An assignment can be written in the singular too (specification
 * section 4, A17).
 */
const owners = {
  User: {
    noun: "a user",
    params: userParams,
    withKey: z.lazy(() => z.object({ user: userParam, ...key })),
    bases: ["users/{user}/attributes"],
  },
  Otpkey: {
    noun: "an OTP key",
    params: keyParams,
    withKey: z.lazy(() => z.object({ prefix: prefixParam, ...key })),
    bases: ["otpkeys/{prefix}/attributes"],
  },
  UserOtpkey: {
    noun: "an OTP key of a user",
    params: userKeyParams,
    withKey: z.lazy(() => z.object({ user: userParam, prefix: prefixParam, ...key })),
    bases: ["users/{user}/otpkeys/{prefix}/attributes", "user/{user}/otpkeys/{prefix}/attributes"],
  },
} as const;

interface Owner {
  readonly noun: string;
  readonly params: z.ZodType<AttributeOwner>;
  readonly withKey: z.ZodType<AttributeOwner & { readonly key: string }>;
  readonly bases: readonly string[];
}

const noSuchOwner = (): Fault => new Fault("not_found", "There is no such user, otpkey or assignment.");

/** Returns the endpoints of all attributes by function name. */
export const attributeEndpoints = (): Readonly<Record<string, RoleEndpoint<AuthContext>>> =>
  Object.fromEntries(Object.entries(owners).flatMap(([name, owner]) => Object.entries(endpointsOf(name, owner))));

function endpointsOf(
  name: string,
  { noun, params, withKey, bases }: Owner,
): Readonly<Record<string, RoleEndpoint<AuthContext>>> {
  const under = (method: "GET" | "POST" | "DELETE", rest = ""): readonly Route[] =>
    bases.map(base => `${method} /${base}${rest}` as const);
  const common = { access: "caller", tag: "Attributes" } as const;
  return {
    [`coreList${name}Attributes`]: endpoint({
      ...common,
      role: "read",
      routes: under("GET"),
      summary: `List the attributes of ${noun}`,
      description: "Returns an object with the value of every attribute by its key.",
      params,
      answers: { 200: { description: "Values by key.", schema: attributesView } },
      handle: async ({ params }, { attributes }: AuthContext) => {
        const all = await attributes.all(params);
        if (all === undefined) throw noSuchOwner();
        return ok(all);
      },
    }),
    [`coreSet${name}Attribute`]: endpoint({
      ...common,
      role: "admin",
      routes: under("POST"),
      summary: `Set an attribute of ${noun}`,
      description: "Sets the value of one attribute. An existing value is replaced.",
      params,
      body: attribute,
      answers: { 204: { description: "Done." } },
      handle: async ({ params, body }, { attributes, log }: AuthContext) => {
        const result = await attributes.set(params, body.key, body.value);
        if (result === undefined) throw noSuchOwner();
        if (!result.ok) throw invalidRequest([{ path: "value", reason: result.reason }]);
        // The value of an attribute is never logged (A12).
        log.info("attribute_set", { ...params, key: body.key });
        return noContent;
      },
    }),
    [`coreGet${name}Attribute`]: endpoint({
      ...common,
      role: "read",
      routes: under("GET", "/{key}"),
      summary: `Read an attribute of ${noun}`,
      description: "Returns the value of one attribute as a JSON string, or `null` if it is not set.",
      params: withKey,
      answers: { 200: { description: "The value, or null.", schema: z.string().nullable() } },
      handle: async ({ params }, { attributes }: AuthContext) => {
        const all = await attributes.all(params);
        if (all === undefined) throw noSuchOwner();
        return ok(attributeOf(all, params.key) ?? null);
      },
    }),
    [`coreDelete${name}Attribute`]: endpoint({
      ...common,
      role: "admin",
      routes: [...under("DELETE", "/{key}"), ...under("POST", "/{key}/delete")],
      summary: `Delete an attribute of ${noun}`,
      description: "Deletes one attribute. Does nothing if it is not set.",
      params: withKey,
      answers: { 204: { description: "Done." } },
      handle: async ({ params }, { attributes, log }: AuthContext) => {
        if ((await attributes.remove(params, params.key)) === undefined) throw noSuchOwner();
        log.info("attribute_deleted", { ...params });
        return noContent;
      },
    }),
  };
}
