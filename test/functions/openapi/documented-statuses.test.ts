import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closePeers, type Peers, startPeers } from "../../../local/peers/all.ts";
import { sampleRequest } from "../../../local/start/sample-request.ts";
import { describeSystem } from "../../../local/start/system.ts";
import { call } from "../../local/host/http/raw-request.ts";
import { type HostProcess, startHostProcess } from "../../support/host/host-process.ts";
import { freshStorage } from "../../support/storage/fresh-storage.ts";
import { type Operation, operationsOf } from "./document.ts";
import type { Known } from "./inputs.ts";
import { requestsOf, type Sent } from "./requests.ts";

/** To repeat a run, set both. */
const seed = Number(process.env.OPENAPI_SEED ?? Date.now() % 1_000_000_000);
const numRuns = Number(process.env.OPENAPI_RUNS ?? 8);
const operations = (["core", "client", "connector"] as const).flatMap(operationsOf);

/** Bodies that are accepted, by operation: rules across fields make few of the documented ones so. */
const examples: Readonly<Record<string, readonly object[]>> = {
  coreImportOtpkey: ["31323334353637383930", "30393837363534333231"].map(hex => ({
    prefix: "newkey",
    kind: "hotp",
    secret: hex.repeat(2),
  })),
  v2CreateCredentialRequest: [sampleRequest],
  v1CreateShipment: [JSON.parse(readFileSync("docs/examples/connector-order-v1.json", "utf8"))],
  v1CreateCredentialRequest: [
    {
      recipient: { firstname: "Ada", lastname: "Lovelace", email: "ada@example.com" },
      credentials: [{ user_id: "ada@example.com" }],
      pin_request: {},
      enrollment_contacts: { emails_to: ["ada@example.com"] },
    },
  ],
};

let peers: Peers;
let host: HostProcess;
const known: Record<string, readonly string[]> = {};
const bearers: Record<"core" | "connector", Readonly<Record<string, string>>[]> = { core: [], connector: [] };

beforeAll(async () => {
  console.log(`OPENAPI_SEED=${seed} OPENAPI_RUNS=${numRuns}`);
  const storage = freshStorage();
  peers = await startPeers();
  const { settings, tokens } = await describeSystem(storage, peers);
  host = await startHostProcess(tokens.core, settings);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const tenant = async (role: string) =>
    bearer(await peers.issuer.mint({ audience: settings.CALLER_AUDIENCES ?? "", roles: [role] }));
  bearers.core.push(bearer(tokens.core), await tenant("Core.Admin"));
  bearers.connector.push(bearer(tokens.connector), await tenant("Connector.Call"));
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
  const { body } = await host.call("POST", "/v2/credential-requests", sampleRequest, connector);
  const request = (body as { data: { credential_request_id: string } }).data.credential_request_id;
  const view = await host.call("GET", `/v2/credential-requests/${request}`, undefined, connector);
  const shipment = JSON.stringify(view.body).match(/"shipment_id":"([^"]+)"/)?.[1] ?? "none";
  return {
    user: [...users, ...ids],
    username: [...users, "a new name", "caller of clientLogin", "caller of clientLoginByGet"],
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

/** Headers of callers whom an operation accepts; sessions of its own, because some operations end them. */
async function identitiesOf({ api, id }: Operation): Promise<readonly Readonly<Record<string, string>>[]> {
  if (api === "core" || api === "connector") return bearers[api];
  const user = { username: `caller of ${id}`, password: "a good password" };
  await host.call("POST", "/core/users", user);
  const logins = await Promise.all([1, 2, 3].map(() => host.call("POST", "/client/login", user)));
  // Another operation may have deleted the user meanwhile: its login has no session.
  return logins.map(({ body }) => ({ "x-service-session": (body as { session?: string }).session ?? "none" }));
}

/** Headers that some responses have. */
const optionalHeaders = ["location", "link", "set-cookie", "retry-after", "www-authenticate", "x-ignored-fields"];

const send = ({ target, ...sent }: Sent) => call({ port: Number(new URL(host.url).port) }, target, sent);

describe("every call is answered as its OpenAPI document says", () => {
  it.concurrent.each(operations.map(operation => [`${operation.method} ${operation.path}`, operation] as const))(
    "%s",
    async (_, operation) => {
      const identities = await identitiesOf(operation);
      const material = { known, identities, examples: examples[operation.id] ?? [] };
      // The bias is toward the first of several choices, as no identity; odd values are choices of their own here.
      const requests = fc.noBias(requestsOf(operation, material));
      await fc.assert(
        fc.asyncProperty(requests, async sent => {
          const { status, text, headers } = await send(sent);
          expect(status, text).toBeLessThan(500);
          expect(operation.statuses, `${status} ${text}`).toContain(status);
          const documented = operation.headers[status] ?? [];
          for (const name of optionalHeaders.filter(name => headers[name] !== undefined))
            expect(documented, `${status} ${name}`).toContain(name);
          if (text !== "") expect(headers["content-type"]?.[0]).toMatch(/^application\/json/);
        }),
        // A shrunk call would be judged by another state of the system.
        { seed, numRuns, endOnFailure: true },
      );
    },
  );
});
