// The costliest known inputs of each endpoint within its bounds: what each costs the event loop, accepted or refused. See README.md.

import type { AuthContext } from "../functions/auth/context.ts";
import { client, core, identifySession } from "../functions/auth/routes.ts";
import { connector } from "../functions/connector/routes.ts";
import { toAuthRules } from "../lib/auth/rules.ts";
import { authSettings } from "../lib/auth/settings.ts";
import { Fault } from "../lib/platform/fault.ts";
import { type Api, type Identify, routeParts } from "../lib/platform/http/api.ts";
import type { Call } from "../lib/platform/http/call.ts";
import { serve } from "../lib/platform/http/serve.ts";
import { createLog } from "../lib/platform/log.ts";
import { machine, table } from "./auth/load.ts";
import { type Input, inputsOf } from "./costliest-input/inputs.ts";

/** Any port of an endpoint: the first call of one ends the endpoint, because only the service's own work is measured. */
const away: unknown = new Proxy(() => {}, {
  get: (_, name) => (name === "then" ? undefined : away),
  apply: () => {
    throw new Fault("unavailable", "A port was called.", { reason: "port" });
  },
});

const log = createLog(() => {});
const rules = toAuthRules(authSettings.parse({}));
const known: Readonly<Record<string, unknown>> = {
  log,
  rules,
  idps: { defaultId: "default", get: () => undefined },
  pinMailDomains: ["example.com"],
  ready: async () => {},
  callerAddress: () => "203.0.113.7",
};
const deps = new Proxy(known, { get: (target, name) => (name in target ? target[String(name)] : away) });
const asCaller: Identify = async () => ({ caller: { kind: "static_token", id: "bench", role: "admin" } as never });

/** Milliseconds of the event loop for a call: of the best of several, because other work can only make them worse. */
async function cost(answer: (call: Call) => Promise<unknown>, input: Input): Promise<number> {
  const { method, url, headers } = input;
  const times: number[] = [];
  for (let run = 0; run < 4; run++) {
    const call = {
      method,
      url: new URL(url),
      params: input.params,
      headers: new Headers(headers),
      invocationId: "bench",
    };
    const began = performance.now();
    await answer({ ...call, body: input.bytes });
    times.push(performance.now() - began);
  }
  return Math.min(...times);
}

/** Returns a row for each endpoint, and prints the costliest inputs of all. */
async function measure<D, S>(api: Api<D, S>, identify: Identify<S>): Promise<readonly string[][]> {
  const rows: string[][] = [];
  for (const [name, endpoint] of Object.entries(api.endpoints)) {
    const parts = routeParts(endpoint.routes[0] ?? "GET /", api.name);
    const options = { deps: deps as D, identify, log, strictTransport: true, trustedProxies: 1 };
    const answer = serve(api, endpoint, parts.template, options);
    let costliest = { ms: 0, input: "" };
    for (const input of inputsOf(api, endpoint, parts)) {
      const ms = await cost(answer, input);
      if (ms > costliest.ms) costliest = { ms, input: input.name };
    }
    rows.push([name, costliest.ms.toFixed(1), costliest.input]);
  }
  return rows.sort((one, other) => Number(other[1]) - Number(one[1]));
}

const head = ["endpoint", "ms", "costliest input"];
const before = machine();
const rows = [
  ...(await measure(client, identifySession(deps as unknown as AuthContext))),
  ...(await measure(core, asCaller)),
  ...(await measure(connector, asCaller)),
];
console.log(`${table([head, ...rows])}\n\nbefore: ${before}\nafter: ${machine()}`);
