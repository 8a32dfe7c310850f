import * as z from "zod";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import { readBody } from "../read-body.ts";
import { codedRefusal } from "../refusal.ts";
import type { KeyMaker } from "../security-key/key-maker.ts";
import { OWN_TENANT } from "./enrollment.ts";
import { type AuthenticatorRequests, stateOf } from "./requests.ts";
import { requestView } from "./view.ts";
import { requestId } from "./wire.ts";

interface PreRegistration {
  readonly requests: AuthenticatorRequests;
  readonly maker: KeyMaker;
  /** Returns the tenant of a valid access token. */
  tenantOf(token: string): string | undefined;
  /** Enrolls waiting requests before a read, if the agent is eager. */
  beforeView(id: string): Promise<void>;
}

/** Returns the routes of docs/peers/enrollment.md. */
export async function rfprRoutes(api: PreRegistration, call: HttpCall): Promise<HttpAnswer | undefined> {
  const [, id, cancel] = call.path.match(/^\/v1\/authenticator-requests\/([^/]+)(\/cancel)?$/) ?? [];
  if (id === undefined) return undefined;
  const [, token = ""] = /^Bearer (.+)$/.exec(call.headers.authorization ?? "") ?? [];
  const tenant = api.tenantOf(token);
  if (tenant === undefined) throw codedRefusal("unauthorized", "the token is missing, wrong or expired");
  const { requests, maker } = api;
  const shown = async () => ({ status: 200, body: await requestView(requests.find(tenant, id), maker) });
  switch (`${call.method}${cancel ?? ""}`) {
    case "PUT": {
      if (!requestId.safeParse(id).success) throw invalid("the id is invalid");
      const { created, request } = await requests.put(tenant, id, readBody(z.unknown(), call.body, invalid));
      return { status: created ? 201 : 200, body: { id, state: stateOf(request) } };
    }
    case "GET":
      if (tenant === OWN_TENANT) await api.beforeView(id);
      return shown();
    case "POST/cancel": {
      const request = requests.find(tenant, id);
      if (stateOf(request) !== "cancelled") requests.end(request, { state: "cancelled" });
      return shown();
    }
    case "DELETE":
      requests.remove(tenant, id);
      return { status: 204 };
    default:
      return undefined;
  }
}

const invalid = (reason: string) => codedRefusal("validation_error", reason);
