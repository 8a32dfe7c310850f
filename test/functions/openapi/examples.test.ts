import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventId } from "../../../lib/connector/events/event.ts";
import { closePeers, idpFile, type Peers, startPeers } from "../../../local/peers/all.ts";
import { type Sink, startSink } from "../../../local/peers/sink/sink.ts";
import { sinkSecrets } from "../../../local/start/sink-secrets.ts";
import { describeSystem } from "../../../local/start/system.ts";
import { type HostProcess, startHostProcess } from "../../support/host/host-process.ts";
import { freshStorage } from "../../support/storage/fresh-storage.ts";
import { until } from "../../support/until.ts";
import { type Operation, operationsOf } from "./document.ts";
import { likeness } from "./likeness.ts";

const operations = (["core", "client", "connector"] as const).flatMap(operationsOf);
/** The request that the examples of the connector name. */
const exampleId = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

/** The event that the examples name, which they send again. */
const exampleEventId = eventId({ requestId: exampleId, type: "request.started" });

let peers: Peers;
let sink: Sink;
let host: HostProcess;
let tokens: { readonly core: string; readonly connector: string };
let tenant: string;

beforeAll(async () => {
  const storage = freshStorage();
  [peers, sink] = await Promise.all([startPeers(), startSink()]);
  const sinkUrls = `${sink.url}/hook`;
  sinkSecrets(sinkUrls, peers.vault);
  const idpPath = join(mkdtempSync(join(tmpdir(), "examples-")), "identity-providers.yaml");
  writeFileSync(idpPath, idpFile(peers));
  const system = await describeSystem(storage, peers, {
    IDP_ENABLE_MULTI_IDP: "true",
    IDP_CONFIGURATION_PATH: idpPath,
    AUTH_SELF_ASSIGN: "true",
    EVENT_SINK_URLS: sinkUrls,
  });
  tokens = system.tokens;
  const audience = system.settings.CALLER_AUDIENCES ?? "";
  tenant = await peers.issuer.mint({ audience, roles: ["Core.Admin", "Connector.Call"] });
  host = await startHostProcess(tokens.connector, system.settings);
});
afterAll(async () => {
  await host.kill();
  await Promise.all([closePeers(peers), sink.close()]);
});

type Answer = Awaited<ReturnType<HostProcess["call"]>>;

const core = (route: string, body?: object): Promise<Answer> => {
  const [method = "", path = ""] = route.split(" ");
  return host.call(method, `/core${path}`, body, { authorization: `Bearer ${tokens.core}` });
};

/** What an operation changes of what the examples of Core and Client find. */
type Change = "nothing" | "attributes" | "anything";

/** What the operations before have changed, and the request that they have left as their example found it. */
const state: { authChange: Change; request: { programmed: boolean; ids: Headers } | undefined } = {
  authChange: "anything",
  request: undefined,
};

/** Whether the operation reads only, so that the next one finds what this one found. */
const readsOnly = ({ method, id }: Operation): boolean =>
  method === "GET" && !/ByGet$|Process|Validate|Lock|Code/.test(id);

/** To prepare an operation of Client uses an OTP. */
const authChangeOf = (operation: Operation): Change => {
  if (operation.api !== "core") return "anything";
  if (readsOnly(operation) || operation.id.includes("ApiToken")) return "nothing";
  return operation.id.includes("Attribute") ? "attributes" : "anything";
};

/** Brings alice and her OTP key into the state in which the examples find them, and removes what the examples create. */
async function resetAuth(): Promise<void> {
  const keys = ["vvccccbcdeft", "vvccccbcdefu", "vvccccbcdefv"];
  if (state.authChange === "anything") {
    await Promise.all([
      ...["alice", "alice.liddell"].map(name => core(`DELETE /users/${name}`)),
      ...keys.map(prefix => core(`DELETE /otpkeys/${prefix}`)),
    ]);
    await core("POST /users", { username: "alice", password: "correct horse battery" });
    const secret = Buffer.from("12345678901234567890").toString("hex");
    await core("POST /otpkeys", { prefix: keys[0], kind: "hotp", secret });
    await core("POST /users/alice/otpkeys", { otpkey: keys[0] });
  }
  if (state.authChange !== "nothing") {
    await core("POST /users/alice/attributes", { key: "team", value: "red" });
    await core(`POST /otpkeys/${keys[0]}/attributes`, { key: "team", value: "red" });
  }
  state.authChange = "nothing";
}

let created = 0;

/** Creates the request of the examples. Returns the ids that it has instead of the examples'. */
async function newRequest(programmed: boolean): Promise<Headers> {
  if (state.request?.programmed === programmed) return state.request.ids;
  peers.delivery.settings({ shipAfterMs: programmed ? 0 : 3_600_000 });
  const create = operations.find(({ id }) => id === "v2CreateCredentialRequest");
  const key = { "idempotency-key": `example-${created++}` };
  // A user may have a few passkeys only.
  const users = { "ada.lovelace@": `ada.lovelace.${created}@`, "ada.admin@": `ada.admin.${created}@` };
  const order = JSON.parse(renamed(JSON.stringify(create?.exampleBody), users));
  const { body } = await host.call("POST", "/v2/credential-requests", order, key);
  const { credential_request_id: request, shipment_id: shipment } = (body as { data: Record<string, string> }).data;
  if (programmed) {
    await host.call("GET", "/v2/operations/process-shipments");
    await host.call("POST", "/v2/operations/process-credential-requests");
  }
  const ids = { [exampleId]: request ?? "", "4711": shipment ?? "", ...users };
  state.request = { programmed, ids };
  return ids;
}

/** Waits until the sink has the event with which the request began. Returns its id. */
async function deliveredEvent(request: string): Promise<Readonly<Record<string, string>>> {
  // Events are sent at the end of a job.
  await host.call("GET", "/v2/operations/process-shipments");
  const id = eventId({ requestId: request, type: "request.started" });
  const path = `/v2/credential-requests/${request}/events`;
  const isDelivered = async () => JSON.stringify((await host.call("GET", path)).body).includes('"delivered"');
  await until(isDelivered, () => `The event ${id} was not delivered.`);
  return { [exampleEventId]: id };
}

/** Returns the headers that the operation needs, and what stands for ids of the examples. */
async function prepare({ id, api }: Operation): Promise<{ headers: Headers; ids: Readonly<Record<string, string>> }> {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  if (id.includes("ApiToken")) {
    const headers = bearer(tenant);
    if (!id.includes("Revoke")) return { headers, ids: {} };
    const { body } = await host.call("POST", `${api === "core" ? "/core" : ""}/api-tokens`, { name: "Old" }, headers);
    return { headers, ids: { "0a1b2c3d": (body as { id: string }).id } };
  }
  if (api === "core" || api === "client") await resetAuth();
  if (id === "coreCreateUser") await core("DELETE /users/alice");
  if (id === "coreImportOtpkey") await core("DELETE /otpkeys/vvccccbcdeft");
  if (id.startsWith("coreDeleteUser") && !id.includes("Attribute"))
    await core("POST /users/alice/rename", { username: "alice.liddell" });
  if (id.includes("TemporaryCode")) {
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    await core("POST /otpkeys/vvccccbcdeft/temporary-code", { valid_until: soon });
    return { headers: bearer(tokens.core), ids: { "2026-02-01T10:00:00.000Z": soon } };
  }
  if (id === "coreGetLock") {
    const wrong = { username: "alice", password: "not the password" };
    for (let n = 0; n < 10; n++) await host.call("POST", "/client/login", wrong, { authorization: "" });
  }
  if (api === "core") return { headers: bearer(tokens.core), ids: {} };
  if (id === "clientAssignOtpkey") {
    const secret = Buffer.from("12345678901234567890").toString("hex");
    await core("POST /otpkeys", { prefix: "vvccccbcdefv", kind: "hotp", secret });
  }
  if (api === "client") {
    const otp = { clientStatus: 0, clientLogout: 0, clientPassword: 0, clientAssignOtpkey: 0 }[id.replace(/By.*/, "")];
    if (otp === undefined) return { headers: {}, ids: {} };
    const fields = { username: "alice", password: "correct horse battery", otp: "vvccccbcdeft755224" };
    const { body } = await host.call("POST", "/client/login", fields, { authorization: "" });
    return { headers: { "x-service-session": (body as { session: string }).session }, ids: {} };
  }
  const ids = await newRequest(/resendPin|SecurityKeys|revoke|offboard/i.test(id));
  const event = /event/i.test(id) ? await deliveredEvent(ids[exampleId] ?? "") : {};
  return { headers: bearer(tokens.connector), ids: { ...ids, ...event } };
}

type Headers = Readonly<Record<string, string>>;

const renamed = (text: string, names: Headers): string =>
  Object.entries(names).reduce((known, [from, to]) => known.replaceAll(from, to), text);

/** Sends an example as its document has it, with the ids of this system. */
async function sendExample({ method, path, parameters, exampleBody, id }: Operation, headers: Headers, ids: Headers) {
  const real = (text: string) => renamed(text, ids);
  const of = (place: string) =>
    parameters
      .filter(each => each.in === place && each.example !== undefined)
      .map(each => [each.name, real(`${each.example}`)]);
  const query = new URLSearchParams(of("query") as [string, string][]);
  const target = (of("path") as [string, string][]).reduce(
    (target, [name, value]) => target.replace(`{${name}}`, encodeURIComponent(real(value))),
    path,
  );
  const own = Object.fromEntries(of("header").map(([name, value]) => [name, `${value}-${id}`]));
  const body = exampleBody === undefined ? undefined : JSON.parse(real(JSON.stringify(exampleBody)));
  return host.call(method, `${target}${query.size > 0 ? `?${query}` : ""}`, body, {
    authorization: "",
    ...own,
    ...headers,
  });
}

describe("the example of each operation is accepted, and its response is like the documented one", () => {
  it.each(operations.map(operation => [operation.id, operation] as const))("%s", async (_, operation) => {
    const { headers, ids } = await prepare(operation);
    const authChange = authChangeOf(operation);
    if (authChange === "anything" || state.authChange === "nothing") state.authChange = authChange;
    if (!readsOnly(operation)) state.request = undefined;
    const answer = await sendExample(operation, headers, ids);
    expect(answer.status, JSON.stringify(answer.body)).toBe(operation.example.status);
    expect(likeness(answer.body)).toEqual(likeness(operation.example.body));
    for (const name of ["location", "set-cookie"])
      expect(answer.headers.has(name), name).toBe(operation.headers[answer.status]?.includes(name) ?? false);
  });
});
