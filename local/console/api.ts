import type { PeerAnswer, PeerCall } from "../peers/http-exchange.ts";
import type { Tokens } from "../start/tokens.ts";
import { enveloped, type Outcome, type OutgoingCall, outcomeOf } from "./calls.ts";
import { choices } from "./choices.ts";
import { mailPage } from "./mail-page.ts";
import { sampleOrder } from "./sample-order.ts";
import { servedApis } from "./served-apis.ts";
import { softwareKeyRoutes } from "./software-key-routes.ts";
import type { SoftwareKeys } from "./software-keys.ts";
import type { ListedRequest } from "./stored-requests.ts";

export interface ApiHost {
  readonly address: string;
  /** Opens maintenance and starts timers; unknown of a host that somebody else has started. */
  readonly masterKey: string | undefined;
}

interface ApiOptions {
  readonly peers: Readonly<Record<string, string>>;
  readonly tokens: Tokens;
  readonly host: () => ApiHost | undefined;
  readonly requests: () => Promise<readonly ListedRequest[]>;
  readonly keys: SoftwareKeys;
}

/** What the page asks of its server: the host with the system's tokens, the peers' controls, and what neither tells. */
export function consoleApi({ peers, tokens, host, requests, keys }: ApiOptions) {
  return async (call: PeerCall, gone: AbortSignal): Promise<PeerAnswer | undefined> => {
    const { method, url, body } = call;
    const callHost = (path: string, { headers, ...outgoing }: OutgoingCall): Promise<Outcome> => {
      const known = host();
      if (known === undefined) throw new Error("there is none yet");
      const authorized = { ...headers, ...authorization(path, tokens, known) };
      return outcomeOf(known.address + path, { ...outgoing, headers: authorized }, gone);
    };

    // As it was called: what is encoded in a segment must reach the other side so.
    const [, area = "", name = "", rest = ""] = /^\/(api|mails)\/([^/]+)(.*)$/.exec(url.pathname) ?? [];
    if (area === "mails" && rest === "") return mailPage(name, peers, gone);
    switch (area === "api" ? name : "") {
      case "facts": {
        const apis = await servedApis(path => callHost(path, { method: "GET" }));
        return { status: 200, body: { host: host()?.address, peers, surfaces: apis } };
      }
      case "requests":
        return { status: 200, body: await requests() };
      case "sample":
        return { status: 200, body: sampleOrder };
      case "choices":
        return { status: 200, body: choices };
      case "host":
        if (!callable.test(rest)) return undefined;
        return enveloped("The host", () => callHost(rest + url.search, { method, headers: passedOn(call), body }));
      case "peers": {
        const [, peer = "", control = ""] = /^\/([^/]+)\/(.+)$/.exec(rest) ?? [];
        const address = Object.hasOwn(peers, peer) ? `${peers[peer]}/_control/${control}` : undefined;
        if (address === undefined) return undefined;
        return enveloped(`The peer ${peer}`, () => outcomeOf(address, { method, body }, gone));
      }
      case "keys":
        return softwareKeyRoutes(
          keys,
          fields => callHost("/core/otpkeys", { method: "POST", headers: json, body: JSON.stringify(fields) }),
          { method, path: rest, body },
        );
      default:
        return undefined;
    }
  };
}

/** The APIs, maintenance, and the timers. */
const callable = new RegExp(
  `^/(health$|v1/|v2/|core/|client/|maintenance/|admin/functions/(${choices.timers.join("|")})$)`,
);

const json = { "content-type": "application/json" };

/** Of the page's headers, those that are meant for the host. */
const passedOn = ({ headers }: PeerCall): Record<string, string> =>
  Object.fromEntries(
    ["content-type", "x-service-session", "idempotency-key"].flatMap(name => {
      const text = headers[name];
      return typeof text === "string" ? [[name, text]] : [];
    }),
  );

/** Public paths get none. */
function authorization(path: string, { core, connector }: Tokens, { masterKey }: ApiHost): Record<string, string> {
  if (/^\/(maintenance|admin)\//.test(path)) return masterKey === undefined ? {} : { "x-functions-key": masterKey };
  if (path.startsWith("/core/")) return { authorization: `Bearer ${core}` };
  return /^\/v[12]\//.test(path) ? { authorization: `Bearer ${connector}` } : {};
}
