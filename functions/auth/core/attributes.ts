import * as z from "zod";
import type { AttributeOwner, UserRef } from "../../../lib/auth/store.ts";
import { noSuchUser } from "../../../lib/auth/users/manage-users.ts";
import { Fault } from "../../../lib/fault.ts";
import { noContent, ok } from "../../../lib/http/call.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { Route } from "../../../lib/http/route.ts";
import type { Fields } from "../../../lib/log.ts";
import type { AuthContext } from "../context.ts";
import { attribute, attributeListParams, attributeParams } from "../inputs.ts";

/** The base paths of attributes, one of them also in its singular form (specification section 4, A17). */
const bases = [
  "users/{user}/attributes",
  "otpkeys/{prefix}/attributes",
  "users/{user}/otpkeys/{prefix}/attributes",
  "user/{user}/otpkeys/{prefix}/attributes",
] as const;

const under = (method: "GET" | "POST" | "DELETE", rest = ""): readonly Route[] =>
  bases.map(base => `${method} /${base}${rest}` as const);

/** Returns the owner of a path's attributes. A path with user and OTP key means the OTP key's attributes (A14). Throws Fault `not_found`. */
function ownerOf(params: { user?: UserRef | undefined; prefix?: string | undefined }): AttributeOwner {
  const { user, prefix } = params;
  const isImpossible = ("user" in params && user === undefined) || ("prefix" in params && prefix === undefined);
  if (isImpossible) throw noSuchOwner();
  if (user === undefined) {
    if (prefix === undefined) throw noSuchUser();
    return { otpkey: prefix };
  }
  return prefix === undefined ? { user } : { user, otpkey: prefix };
}

/** Returns the owner as audit events name it. The value of an attribute is never logged (A12). */
const ownerFields = ({ user, otpkey: prefix }: AttributeOwner): Fields => ({ user, prefix });

const noSuchOwner = (): Fault => new Fault("not_found", "There is no such user, otpkey or assignment.");

export const listAttributes = endpoint({
  routes: under("GET"),
  access: "caller",
  summary: "List attributes",
  params: attributeListParams,
  answers: { 200: { description: "Values by key.", schema: z.record(z.string(), z.string()) } },
  handle: async ({ params }, { attributes }: AuthContext) => {
    const all = await attributes.all(ownerOf(params));
    if (all === undefined) throw noSuchOwner();
    return ok(all);
  },
});

export const setAttribute = endpoint({
  routes: under("POST"),
  access: "caller",
  summary: "Set an attribute",
  params: attributeListParams,
  body: attribute,
  answers: { 204: { description: "Set." } },
  handle: async ({ params, body }, { attributes, log }: AuthContext) => {
    const owner = ownerOf(params);
    const result = await attributes.set(owner, body.key, body.value);
    if (result === undefined) throw noSuchOwner();
    if (!result.ok) {
      throw new Fault("invalid", "The request is not valid.", { problems: [{ path: "value", reason: result.reason }] });
    }
    log.info("attribute_set", { ...ownerFields(owner), key: body.key });
    return noContent;
  },
});

export const getAttribute = endpoint({
  routes: under("GET", "/{key}"),
  access: "caller",
  summary: "Read an attribute",
  params: attributeParams,
  answers: { 200: { description: "The value, or null if it is not set.", schema: z.string().nullable() } },
  handle: async ({ params }, { attributes }: AuthContext) => {
    const value = await attributes.get(ownerOf(params), params.key);
    if (value === undefined) throw noSuchOwner();
    return ok(value);
  },
});

export const deleteAttribute = endpoint({
  routes: [...under("DELETE", "/{key}"), ...under("POST", "/{key}/delete")],
  access: "caller",
  summary: "Delete an attribute, if it is set",
  params: attributeParams,
  answers: { 204: { description: "Deleted, or not set before." } },
  handle: async ({ params }, { attributes, log }: AuthContext) => {
    const owner = ownerOf(params);
    if (!(await attributes.remove(owner, params.key))) throw noSuchOwner();
    log.info("attribute_deleted", { ...ownerFields(owner), key: params.key });
    return noContent;
  },
});
