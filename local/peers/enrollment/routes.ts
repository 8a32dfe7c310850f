import * as z from "zod";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import { readBody } from "../read-body.ts";
import { codedRefusal } from "../refusal.ts";
import type { KeyMaker } from "../security-key/key-maker.ts";
import { type AuthenticatorRequests, stateOf } from "./requests.ts";
import { requestView } from "./view.ts";
import { requestId } from "./wire.ts";

interface PreRegistration {
  readonly requests: AuthenticatorRequests;
  readonly maker: KeyMaker;
  /** Whether an access token is valid. */
  isValid(token: string): boolean;
  /** Enrolls waiting requests before a read, if the agent is eager. */
  beforeView(id: string): Promise<void>;
}

/** Returns the routes of docs/peers/enrollment.md. */
export async function rfprRoutes(api: PreRegistration, call: HttpCall): Promise<HttpAnswer | undefined> {
  const [, id, cancel] = call.path.match(/^\/v1\/authenticator-requests\/([^/]+)(\/cancel)?$/) ?? [];
  if (id === undefined) return undefined;
  const [, token = ""] = /^Bearer (.+)$/.exec(call.headers.authorization ?? "") ?? [];
  if (!api.isValid(token)) throw codedRefusal("unauthorized", "the token is missing, wrong or expired");
  const { requests, maker } = api;
  const shown = async () => ({ status: 200, body: await requestView(requests.find(id), maker) });
  switch (`${call.method}${cancel ?? ""}`) {
    case "PUT": {
      if (!requestId.safeParse(id).success) throw invalid("the id is invalid");
      const { created, request } = await requests.put(id, readBody(z.unknown(), call.body, invalid));
      return { status: created ? 201 : 200, body: { id, state: stateOf(request) } };
    }
    case "GET":
      await api.beforeView(id);
      return shown();
    case "POST/cancel": {
      const request = requests.find(id);
      if (stateOf(request) !== "cancelled") requests.end(request, { state: "cancelled" });
      return shown();
    }
    case "DELETE":
      requests.remove(id);
      return { status: 204 };
    default:
      return undefined;
  }
}

const invalid = (reason: string) => codedRefusal("validation_error", reason);
