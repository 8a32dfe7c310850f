import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";

const role = z.object({
  id: z.string(),
  value: z.string(),
  allowedMemberTypes: z.array(z.string()),
  isEnabled: z.boolean(),
});
const scope = z.object({ id: z.string(), value: z.string() });
const api = z.object({
  requestedAccessTokenVersion: z.number().nullish(),
  oauth2PermissionScopes: z.array(scope).optional(),
  preAuthorizedApplications: z
    .array(z.object({ appId: z.string(), delegatedPermissionIds: z.array(z.string()) }))
    .optional(),
});
const applicationChange = z.strictObject({
  displayName: z.string().optional(),
  signInAudience: z.string().optional(),
  identifierUris: z.array(z.string()).optional(),
  appRoles: z.array(role).optional(),
  api: api.optional(),
});

type Role = z.output<typeof role>;

interface Application extends z.output<typeof applicationChange> {
  readonly id: string;
  readonly appId: string;
  readonly uniqueName: string;
}

interface Principal {
  readonly id: string;
  readonly appId: string;
  appRoleAssignmentRequired: boolean;
  readonly appRoles?: readonly Role[];
}

interface Assignment {
  readonly principalId: string;
  readonly resourceId: string;
  readonly appRoleId: string;
}

const microsoftGraph = "00000003-0000-0000-c000-000000000000";
export const graphToken = "token of the Azure CLI";

/** What of Microsoft Graph the registration calls, with its delays: a new object is not known everywhere at once. */
export async function simulatedGraph({ permissions }: { permissions: readonly string[] }) {
  const applications: Application[] = [];
  const assignments: Assignment[] = [];
  const graphRoles = permissions.map(value => ({
    id: randomUUID(),
    value,
    allowedMemberTypes: ["Application"],
    isEnabled: true,
  }));
  const principals: Principal[] = [
    { id: randomUUID(), appId: microsoftGraph, appRoleAssignmentRequired: false, appRoles: graphRoles },
  ];
  const calls: string[] = [];
  /** Things that were asked for once and were not known yet. */
  const unknownOnce = new Set<string>();
  const isKnown = (what: string): boolean => unknownOnce.has(what) || !unknownOnce.add(what);
  let throttled = 1;
  let origin = "";

  const refused = (status: number, code: string) => ({ status, body: { error: { code, message: `${code}.` } } });

  const changeApplication = (found: Application, body: unknown) => {
    const change = applicationChange.parse(body);
    const scopes = found.api?.oauth2PermissionScopes ?? [];
    const given =
      change.api?.preAuthorizedApplications?.flatMap(({ delegatedPermissionIds }) => delegatedPermissionIds) ?? [];
    if (given.some(id => !scopes.some(each => each.id === id))) return refused(400, "InvalidDelegatedPermission");
    const { api: changed, ...others } = change;
    Object.assign(found, others, changed && { api: { ...found.api, ...changed } });
    return { status: 204 };
  };

  const answer = (
    method: string,
    path: string,
    body: unknown,
    prefer: string | undefined,
  ): { status: number; body?: unknown } => {
    const [, uniqueName = ""] = /^\/applications\(uniqueName='([^']+)'\)/.exec(path) ?? [];
    if (uniqueName !== "") {
      const found = applications.find(each => each.uniqueName === uniqueName);
      if (method === "GET")
        return found && isKnown("application")
          ? { status: 200, body: found }
          : refused(404, "Request_ResourceNotFound");
      if (found !== undefined) return changeApplication(found, body);
      if (prefer !== "create-if-missing") return refused(404, "Request_ResourceNotFound");
      const made = {
        id: randomUUID(),
        appId: randomUUID(),
        uniqueName,
        identifierUris: [],
        appRoles: [],
        api: {},
        ...applicationChange.parse(body),
      };
      applications.push(made);
      return { status: 201, body: made };
    }
    const application = applications.find(each => path === `/applications/${each.id}`);
    if (application !== undefined && method === "PATCH") return changeApplication(application, body);

    const [, appId = ""] = /^\/servicePrincipals\(appId='([^']+)'\)/.exec(path) ?? [];
    if (appId !== "") {
      const found = principals.find(each => each.appId === appId);
      return found ? { status: 200, body: found } : refused(404, "Request_ResourceNotFound");
    }
    if (path === "/servicePrincipals" && method === "POST") {
      if (!isKnown("principal")) return refused(400, "NoBackingApplicationObject");
      const made = {
        id: randomUUID(),
        ...z.object({ appId: z.string(), appRoleAssignmentRequired: z.boolean() }).parse(body),
      };
      principals.push(made);
      return { status: 201, body: made };
    }
    const principal = principals.find(each => path === `/servicePrincipals/${each.id}`);
    if (principal !== undefined && method === "PATCH") {
      Object.assign(principal, z.strictObject({ appRoleAssignmentRequired: z.boolean() }).parse(body));
      return { status: 204 };
    }
    const [, holder = "", list = ""] =
      /^\/servicePrincipals\/([^/]+)\/(appRoleAssignedTo|appRoleAssignments)/.exec(path) ?? [];
    return list === "" ? refused(404, "Request_ResourceNotFound") : assigned(method, path, { holder, list, body });
  };

  const assigned = (
    method: string,
    path: string,
    { holder, list, body }: { holder: string; list: string; body: unknown },
  ) => {
    const own = assignments.filter(
      each => (list === "appRoleAssignedTo" ? each.resourceId : each.principalId) === holder,
    );
    if (method === "GET") {
      // One entry per page, so that a caller that reads only the first page misses the rest.
      const at = Number(new URL(path, origin).searchParams.get("$skiptoken") ?? 0);
      const next =
        at + 1 < own.length
          ? { "@odata.nextLink": `${origin}/v1.0/servicePrincipals/${holder}/${list}?$skiptoken=${at + 1}` }
          : {};
      return { status: 200, body: { value: own.slice(at, at + 1), ...next } };
    }
    const wanted = z
      .strictObject({ principalId: z.string(), resourceId: z.string(), appRoleId: z.string() })
      .parse(body);
    const resource = principals.find(({ id }) => id === wanted.resourceId);
    const roles = resource?.appRoles ?? applications.find(each => each.appId === resource?.appId)?.appRoles ?? [];
    if (!roles.some(({ id }) => id === wanted.appRoleId)) return refused(400, "InvalidAppRole");
    if (own.some(each => JSON.stringify(each) === JSON.stringify(wanted)))
      return refused(400, "PermissionAlreadyExists");
    assignments.push(wanted);
    return { status: 201, body: wanted };
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const path = decodeURIComponent((request.url ?? "").replace(/^\/v1\.0/, ""));
    const method = request.method ?? "";
    // Retry-After is short, so that no test waits for long.
    const send = (status: number, body?: unknown) => {
      const headers = { "content-type": "application/json", "retry-after": "0.01" };
      response.writeHead(status, headers).end(body === undefined ? "" : JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${graphToken}`)
      return send(401, refused(401, "InvalidAuthenticationToken").body);
    if (throttled-- > 0) return send(429, refused(429, "TooManyRequests").body);
    calls.push(`${method} ${path}`);
    const { status, body } = answer(
      method,
      path,
      text === "" ? undefined : JSON.parse(text),
      request.headers.prefer?.toString(),
    );
    send(status, body);
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    applications,
    principals,
    assignments,
    graphRoles,
    calls,
    close: () => new Promise<void>(resolve => server.close(() => resolve())),
  };
}
