import { enveloped, type Outcome, type OutgoingCall, outcomeOf, passedOn } from "../../commands/console/calls.ts";
import { createServedApis } from "../../commands/console/served-apis.ts";
import type { HttpAnswer, HttpCall } from "../../commands/http-exchange.ts";
import { requestRows } from "../../lib/connector/storage/request-rows.table.ts";
import { openTables } from "../../lib/platform/azure/tables.ts";
import { seconds } from "../../lib/platform/time.ts";
import type { LocalHost } from "../host/host.ts";
import { withControlBody } from "../peers/control.ts";
import type { Tokens } from "../start/tokens.ts";
import { choices } from "./choices.ts";
import { importKeyFile, keyFile } from "./import-keys.ts";
import { mailPage } from "./mail-page.ts";
import { sampleOrder } from "./sample-order.ts";
import { softwareKeyRoutes } from "./software-keys/routes.ts";
import type { SoftwareKeys } from "./software-keys/software-keys.ts";
import { createStories } from "./story.ts";
import { createTimeline } from "./timeline.ts";

export interface ApiHost {
  readonly address: string;
  /** Opens maintenance and starts timers. Unknown for a host of another process. */
  readonly masterKey?: string | undefined;
  readonly nextRuns?: LocalHost["nextRuns"] | undefined;
}

interface ApiOptions {
  readonly connectionString: string;
  readonly peers: Readonly<Record<string, string>>;
  readonly tokens: Tokens;
  readonly host: () => ApiHost | undefined;
  readonly keys: SoftwareKeys;
  /** Where the timeline is kept; in memory if absent. */
  readonly timelinePath: string | undefined;
}

/** Creates the API that the page uses: the host with the system's tokens, the peers' controls, and what the console itself knows. */
export function consoleApi({ connectionString, peers, tokens, host, keys, timelinePath }: ApiOptions) {
  const callHost = (path: string, { headers, ...outgoing }: OutgoingCall, gone: AbortSignal): Promise<Outcome> => {
    const known = host();
    if (known === undefined) throw new Error("it has not started yet");
    const authorized = { ...headers, ...authorization(path, tokens, known) };
    // One host serves every API.
    return outcomeOf(
      known.address + path.replace(/^\/health\/.*$/, "/health"),
      { ...outgoing, headers: authorized },
      gone,
    );
  };
  const read = (path: string) => callHost(path, { method: "GET" }, closed.signal);
  const closed = new AbortController();
  const servedApis = createServedApis(read);
  const rows = requestRows(openTables({ connectionString, timeoutMs: seconds(15) }));
  const timeline = createTimeline(timelinePath, id => stories.changed(id));
  const stories = createStories({
    timeline,
    readRequest: id => read(`/v2/credential-requests/${encodeURIComponent(id)}`),
    readRow: async id => (await rows.load(id))?.request,
    readMails: operations => {
      const query = operations.map(operation => `operation=${operation}`).join("&");
      return outcomeOf(`${peers.mail}/_control/mails?${query}`, { method: "GET" }, closed.signal);
    },
  });

  const answer = async (call: HttpCall, gone: AbortSignal): Promise<HttpAnswer | undefined> => {
    const { method, url, body } = call;
    // Not decoded: what is encoded in a segment must reach the other side as it is.
    const [, area = "", name = "", rest = ""] = /^\/(api|mails)\/([^/]+)(.*)$/.exec(url.pathname) ?? [];
    if (area === "mails" && rest === "") return mailPage(name, peers, gone);
    switch (area === "api" ? name : "") {
      case "facts": {
        const { address, nextRuns } = host() ?? {};
        const addresses = address === undefined ? {} : { core: address, connector: address };
        return {
          status: 200,
          body: { isSimulated: true, addresses, peers, apis: await servedApis(), nextRuns: nextRuns?.() ?? [] },
        };
      }
      case "tokens":
        return { status: 200, body: tokens };
      case "stories":
        return { status: 200, body: await stories.of(decodeURIComponent(rest.slice(1))) };
      case "sample":
        return { status: 200, body: sampleOrder };
      case "choices":
        return { status: 200, body: choices };
      case "host":
        if (!callable.test(rest)) return undefined;
        return enveloped("The host", method, () =>
          callHost(rest + url.search, { method, headers: passedOn(call), body }, gone),
        );
      case "peers": {
        const [, peer = "", control = ""] = /^\/([^/]+)\/(.+)$/.exec(rest) ?? [];
        const address = Object.hasOwn(peers, peer) ? `${peers[peer]}/_control/${control}${url.search}` : undefined;
        if (address === undefined) return undefined;
        return enveloped(`The peer ${peer}`, method, () => outcomeOf(address, { method, body }, gone));
      }
      case "keys":
        return softwareKeyRoutes(
          keys,
          fields => callHost("/core/otpkeys", { method: "POST", headers: json, body: JSON.stringify(fields) }, gone),
          { method, path: rest, body },
        );
      case "key-files":
        return withControlBody(keyFile, body, async file => ({
          status: 200,
          body: await importKeyFile(file, `${host()?.address}/core`, tokens.core, gone),
        }));
      default:
        return undefined;
    }
  };
  return {
    answer,
    addLine: timeline.addLine,
    close: () => {
      closed.abort();
      stories.close();
    },
  };
}

/** The APIs, maintenance, and the timers. */
const callable = new RegExp(
  `^/(health/(core|connector)$|v1/|v2/|core/|client/|maintenance/|admin/functions/(${choices.timers.join("|")})$)`,
);

const json = { "content-type": "application/json" };

/** Returns the credential for a path of the host; none for public paths. */
function authorization(path: string, { core, connector }: Tokens, { masterKey }: ApiHost): Record<string, string> {
  if (/^\/(maintenance|admin)\//.test(path)) return masterKey === undefined ? {} : { "x-functions-key": masterKey };
  if (path.startsWith("/core/")) return { authorization: `Bearer ${core}` };
  return /^\/v[12]\//.test(path) ? { authorization: `Bearer ${connector}` } : {};
}
