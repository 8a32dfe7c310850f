import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closePeers, type Peers, startPeers } from "../../local/peers/all.ts";
import { sampleRequest } from "../../local/sample-request.ts";
import { describeSystem } from "../../local/system.ts";
import { call } from "../local/host/raw-request.ts";
import { type HostProcess, startHostProcess } from "../support/host-process.ts";
import { freshStorage } from "../support/storage.ts";
import { operationsOf } from "./document.ts";
import type { Known } from "./inputs.ts";
import { requestsOf, type Sent } from "./requests.ts";

/** To repeat a run, set both. */
const seed = Number(process.env.OPENAPI_SEED ?? Date.now() % 1_000_000_000);
const numRuns = Number(process.env.OPENAPI_RUNS ?? 8);
const operations = (["core", "client", "connector"] as const).flatMap(operationsOf);

let peers: Peers;
let host: HostProcess;
const known: Record<string, readonly string[]> = {};
const identities: Record<(typeof operations)[number]["api"], Readonly<Record<string, string>>[]> = {
  core: [],
  client: [],
  connector: [],
};

beforeAll(async () => {
  console.log(`OPENAPI_SEED=${seed} OPENAPI_RUNS=${numRuns}`);
  const storage = freshStorage();
  peers = await startPeers();
  const { settings, tokens } = await describeSystem(storage, peers);
  host = await startHostProcess(storage.connectionString, tokens.core, settings);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const tenant = async (role: string) =>
    bearer(await peers.issuer.mint({ audience: settings.CALLER_AUDIENCES ?? "", roles: [role] }));
  identities.core.push(bearer(tokens.core), await tenant("Core.Admin"));
  identities.connector.push(bearer(tokens.connector), await tenant("Connector.Call"));
  Object.assign(known, await filled(bearer(tokens.connector)));
});

afterAll(async () => {
  await host.kill();
  await closePeers(peers);
});

/** Puts users, keys and a request into the system. Returns what names them. */
async function filled(connector: Readonly<Record<string, string>>): Promise<Known> {
  const users = ["ada", "grace hopper", "مريم"];
  const password = "a good password";
  const made = await Promise.all(users.map(username => host.call("POST", "/core/users", { username, password })));
  const ids = made.map(({ body }) => String((body as { id: number }).id));
  const prefixes = ["ccccccccccct", "ccccccccccbb"];
  for (const otpkey of prefixes) await host.call("POST", `/core/users/${ids[0]}/otpkeys`, { otpkey });
  await host.call("POST", `/core/users/${ids[0]}/attributes`, { key: "team", value: "red" });
  const login = await host.call("POST", "/client/login", { username: users[1], password });
  identities.client.push({}, { "x-service-session": (login.body as { session: string }).session });
  const { body } = await host.call("POST", "/v2/credential-requests", sampleRequest, connector);
  const request = (body as { data: { credential_request_id: string } }).data.credential_request_id;
  const view = await host.call("GET", `/v2/credential-requests/${request}`, undefined, connector);
  const shipment = JSON.stringify(view.body).match(/"shipment_id":"([^"]+)"/)?.[1] ?? "none";
  return {
    user: [...users, ...ids],
    username: [...users, "a new name"],
    ...Object.fromEntries(["password", "newpass", "oldpass"].map(name => [name, [password, "another good one", ""]])),
    otp: [`${prefixes[0]}123456`, "123456"],
    ...Object.fromEntries(["prefix", "otpkey"].map(name => [name, [...prefixes, "newkey"]])),
    key: ["team"],
    secret: ["00112233445566778899aabbccddeeff"],
    id: ["0a1b2c3d"],
    credential_request_id: [request],
    shipment_id: [shipment],
    user_id: ["ada@example.com"],
    email: ["ada@example.com"],
    country_code: ["US"],
    region: ["MA"],
  };
}

const send = ({ target, ...sent }: Sent) => call({ port: Number(new URL(host.url).port) }, target, sent);

describe("every call, whatever it holds, is answered as its OpenAPI document says", () => {
  it.concurrent.each(operations.map(operation => [`${operation.method} ${operation.path}`, operation] as const))(
    "%s",
    { timeout: 120_000 },
    async (_, operation) => {
      const requests = requestsOf(operation, known, identities[operation.api]);
      await fc.assert(
        fc.asyncProperty(requests, async sent => {
          const { status, text, headers } = await send(sent);
          expect(status, text).toBeLessThan(500);
          expect(operation.statuses, `${status} ${text}`).toContain(status);
          if (text !== "") expect(headers["content-type"]?.[0]).toMatch(/^application\/json/);
        }),
        // A shrunk call would be judged by another state of the system.
        { seed, numRuns, endOnFailure: true },
      );
    },
  );
});
