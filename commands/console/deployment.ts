import type { HttpAnswer, HttpCall } from "../http-exchange.ts";
import { enveloped, type Outcome, type OutgoingCall, outcomeOf, passedOn } from "./calls.ts";
import { choices } from "./choices.ts";
import { createServedApis } from "./served-apis.ts";
import type { Answer } from "./server.ts";

/** A deployed API that the console calls for its operator. */
export interface DeployedApi {
  /** With the API's path, without a slash at the end. */
  readonly url: string;
  /** Returns the current bearer token. */
  readonly token: () => Promise<string>;
}

export type DeployedApis = Readonly<Partial<Record<"core" | "connector", DeployedApi>>>;

type Service = keyof DeployedApis;

/** An order without a recipient, to be filled in. */
const emptyOrder = {
  recipient: { first_name: "", last_name: "", email: "", telephone: "" },
  enrollment_contacts: { emails_to: [""] },
  shipment: {
    mailing_address: { street_line1: "", postal_code: "", city: "", country_code: "" },
    shipment_items: [
      { product_id: "1", inventory_product_id: "15", pin_request: { length: 6 }, credentials: [{ user_id: "" }] },
    ],
  },
};

/** How long the roles of a token are kept. */
const rolesMaxAgeMs = 60_000;

/** Creates the API of the page for a deployment: the public APIs with the operator's tokens, and nothing else. */
export function deploymentApi(apis: DeployedApis, closed: AbortSignal): Answer {
  const callApi = async (path: string, call: OutgoingCall, gone: AbortSignal): Promise<Outcome> => {
    const { service, address, isPublic } = destination(path, apis) ?? {};
    const api = service && apis[service];
    if (api === undefined || address === undefined) return { status: 404, headers: {}, body: undefined };
    const authorization = isPublic ? {} : { authorization: `Bearer ${await api.token()}` };
    return outcomeOf(address, { ...call, headers: { ...call.headers, ...authorization } }, gone);
  };
  const read = (path: string) => callApi(path, { method: "GET" }, closed);
  const servedApis = createServedApis(read);

  let known: { readonly roles: Promise<Roles>; readonly until: number } | undefined;
  const roles = () => {
    if (known === undefined || known.until < Date.now())
      known = { roles: rolesOf(apis, read), until: Date.now() + rolesMaxAgeMs };
    return known.roles;
  };

  return async (call: HttpCall, gone: AbortSignal): Promise<HttpAnswer | undefined> => {
    const { method, url, body } = call;
    // Not decoded: what is encoded in a segment must reach the API as it is.
    const [, name = "", rest = ""] = /^\/api\/([^/]+)(\/.*)?$/.exec(url.pathname) ?? [];
    switch (name) {
      case "facts": {
        const addresses = Object.fromEntries(Object.entries(apis).map(([service, api]) => [service, api.url]));
        const shown = { addresses, peers: {}, nextRuns: [], apis: await servedApis(), roles: await roles() };
        return { status: 200, body: { isSimulated: false, ...shown } };
      }
      case "choices":
        return { status: 200, body: choices };
      case "sample":
        return { status: 200, body: emptyOrder };
      case "host":
        if (destination(rest, apis) === undefined) return undefined;
        return enveloped("The API", method, () =>
          callApi(rest + url.search, { method, headers: passedOn(call), body }, gone),
        );
      default:
        return undefined;
    }
  };
}

interface Destination {
  readonly service: Service;
  /** Absent if the console was started without the API. */
  readonly address: string | undefined;
  readonly isPublic: boolean;
}

/** Returns where a path of the page leads; undefined if it is no path of the APIs. */
function destination(path: string, apis: DeployedApis): Destination | undefined {
  const [, health] = /^\/health\/(core|connector)$/.exec(path) ?? [];
  if (health !== undefined) {
    const api = apis[health as Service];
    return { service: health as Service, address: api && `${new URL(api.url).origin}/health`, isPublic: true };
  }
  const service = path.startsWith("/core/") ? "core" : /^\/(v2\/|caller$)/.test(path) ? "connector" : undefined;
  if (service === undefined) return undefined;
  const base = apis[service]?.url;
  return { service, address: base && base + (service === "core" ? path.slice("/core".length) : path), isPublic: false };
}

type Roles = Readonly<Partial<Record<Service, readonly string[]>>>;

/** Returns the roles of the operator's tokens, as each API reports them; none of an API that is not responding. */
async function rolesOf(apis: DeployedApis, read: (path: string) => Promise<Outcome>): Promise<Roles> {
  const paths: Readonly<Record<Service, string>> = { core: "/core/caller", connector: "/caller" };
  const roles = await Promise.all(
    (Object.keys(apis) as Service[]).map(async service => {
      const { body } = await read(paths[service]).catch(() => ({ body: undefined }));
      const { roles = [] } = (body ?? {}) as { readonly roles?: readonly string[] };
      return [service, roles] as const;
    }),
  );
  return Object.fromEntries(roles);
}
