import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { Served } from "../../../local/package/serve.ts";
import { closePeers, type Peers, startPeers } from "../../../local/peers/all.ts";
import { sampleRequest } from "../../../local/start/sample-request.ts";
import { describeSystem } from "../../../local/start/system.ts";
import { hotpCode } from "../../lib/auth/otpkeys/kinds/codes.ts";
import { builtPackage } from "../../support/host/built-package.ts";
import { compileCache } from "../../support/host/compile-cache.ts";
import { quick } from "../../support/host/system.ts";
import { type Collector, startCollector } from "../../support/host/telemetry-collector.ts";
import { freshStorage } from "../../support/storage/fresh-storage.ts";
import { until } from "../../support/until.ts";

/** What a run of everything left behind, and what must not be in it. */
export interface FullRun {
  readonly collector: Collector;
  readonly peers: Peers;
  /** All that the host wrote to its console. */
  readonly output: string;
  /** Texts that nothing may hold, by what they are. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The request that was shipped, activated and mailed. */
  readonly requestId: string;
}

const person = {
  first_name: "Wilhelmina",
  last_name: "Featherstone",
  company: "Quillfeather Ltd",
  email: "wilhelmina.featherstone@quillfeather.example",
  telephone: "+1(555)0142-7788",
  street_line1: "77 Marmalade Crescent",
  street_line2: "Rear Garret",
  city: "Throckmorton",
  postal_code: "02139-4417",
  contact: "wilma.private@quillfeather.example",
  user_id: "wfeatherstone@corp.quillfeather.example",
};

/** One order of one key with a PIN of 12 digits, which is no part of any time or id by chance. */
const order = {
  recipient: {
    email: person.email,
    first_name: person.first_name,
    last_name: person.last_name,
    company: person.company,
    telephone: person.telephone,
  },
  enrollment_contacts: { emails_to: [person.contact] },
  shipment: {
    ...sampleRequest.shipment,
    mailing_address: {
      street_line1: person.street_line1,
      street_line2: person.street_line2,
      city: person.city,
      region: "MA",
      postal_code: person.postal_code,
      country_code: "US",
    },
    shipment_items: sampleRequest.shipment.shipment_items.map(item => ({
      ...item,
      pin_request: { length: 12 },
      credentials: [{ user_id: person.user_id }],
    })),
  },
};

/**
 * Runs what the service is for, on a host that exports telemetry to a collector in both ways: an order until its PIN is
 * mailed, with an identity provider and a mail service that throttle on the way; users, keys and sign-ins, good and
 * bad; callers without a token.
 */
export async function fullRun(): Promise<FullRun> {
  const storage = freshStorage();
  const [peers, collector] = await Promise.all([startPeers(), startCollector()]);
  peers.delivery.settings({ shipAfterMs: 0 });
  const { settings, tokens } = await describeSystem(storage, peers);
  const host = await servePackage({
    ...settings,
    ...quick,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    APPLICATIONINSIGHTS_CONNECTION_STRING: collector.connectionString,
    APPLICATION_INSIGHTS_NO_STATSBEAT: "1",
    // As Flex Consumption names an app and its instance.
    WEBSITE_SITE_NAME: "telemetry-app",
    WEBSITE_POD_NAME: "pod-1",
    CONTAINER_NAME: "container-1",
    LOGGING_LEVEL_COM_SERVICE: "DEBUG",
  });
  const { url, masterKey } = host;
  const call = caller(url);
  const secrets: Record<string, string> = {
    "core token": tokens.core,
    "connector token": tokens.connector,
    "host key": masterKey,
    "storage key": /AccountKey=([^;]+)/.exec(storage.connectionString)?.[1] ?? "",
    "bad token": `wrong-${randomBytes(12).toString("hex")}`,
    ...Object.fromEntries(Object.entries(person).map(([name, value]) => [`recipient's ${name}`, value])),
  };
  for (const name of ["data-encryption-key", "password-pepper", "delivery-api-token", "idp-entra-client-secret"])
    secrets[`vault's ${name}`] = peers.vault.get(name) ?? "";

  await refusals(call, secrets);
  await signIns(call, tokens.core, secrets);
  const requestId = await keyIsOrdered(call, { token: tokens.connector, masterKey, peers }, secrets);

  const output = await host.stop();
  await closePeers(peers);
  return { collector, peers, output, secrets, requestId };
}

/** The package as it is deployed, under the local host. `stop` answers all that it wrote to its console. */
async function servePackage(settings: Readonly<Record<string, string>>) {
  const child = fork("local/package/serve.ts", [await builtPackage()], {
    env: { PATH: process.env.PATH, ...compileCache, ...settings },
    execArgv: ["--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const outputs = Promise.all([child.stdout, child.stderr].map(stream => stream && text(stream)));
  const ended = once(child, "exit");
  const [served] = await Promise.race([once(child, "message"), ended]);
  if (typeof served !== "object") throw new Error(`the host ended: ${(await outputs).join("\n")}`);
  return {
    ...(served as Served),
    stop: async () => {
      child.send("stop");
      const all = await outputs;
      await ended;
      return all.join("\n");
    },
  };
}

type Call = (method: string, path: string, sent?: Sent) => Promise<{ readonly status: number; readonly body: unknown }>;

interface Sent {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly status?: number;
}

const caller =
  (url: string): Call =>
  async (method, path, { token, headers, form, json, status: wanted } = {}) => {
    const body = form === undefined ? json && JSON.stringify(json) : new URLSearchParams(form);
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(json !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: body as string }),
    });
    const answer = await response.text();
    if (wanted !== undefined && response.status !== wanted)
      throw new Error(`${method} ${path} was answered ${response.status}: ${answer}`);
    return { status: response.status, body: answer === "" ? undefined : JSON.parse(answer) };
  };

async function refusals(call: Call, secrets: Readonly<Record<string, string>>): Promise<void> {
  const token = secrets["bad token"] ?? "";
  await call("GET", "/core/users", { token, status: 401 });
  await call("GET", "/v2/status", { token, status: 401 });
  await call("POST", "/v2/credential-requests", {
    token: secrets["connector token"] ?? "",
    json: { ...order, recipient: { ...order.recipient, telephone: `${person.telephone}Bluebell` } },
    status: 400,
  });
}

async function signIns(call: Call, token: string, secrets: Record<string, string>): Promise<void> {
  const password = "a Password that is hard to guess";
  const secret = randomBytes(20);
  const prefix = "telemetrykey";
  const otp = (counter: number) => prefix + hotpCode(secret, counter, 8);
  const core = (method: string, path: string, form?: Record<string, string>) =>
    call(method, `/core${path}`, { token, ...(form && { form }) });
  const client = (path: string, form: Record<string, string>) => call("POST", `/client${path}`, { form });
  await core("POST", "/users", { username: "telemetry-user", password });
  const fields = { prefix, kind: "hotp", digits: "8", secret: secret.toString("hex") };
  await core("POST", "/otpkeys", fields);
  await core("POST", "/users/telemetry-user/otpkeys", { otpkey: prefix });
  await core("POST", "/users/telemetry-user/attributes", { key: "nickname", value: "Snugglepot" });
  await call("GET", "/core/users?nickname=Snugglepot", { token, status: 200 });
  await core("POST", "/users/telemetry-user/validate", { password: "a first Guess at it", otp: otp(0) });
  await client("/login", { username: "telemetry-user", password: "a second Guess at it", otp: otp(1) });
  const inQuery = new URLSearchParams({ username: "telemetry-user", password, otp: otp(2) });
  await call("GET", `/client/login?${inQuery}`, { status: 200 });
  const login = await client("/login", { username: "telemetry-user", password, otp: otp(3) });
  const { session } = login.body as { readonly session: string };
  const headers = { "x-service-session": session };
  await call("POST", "/client/status", { headers, status: 200 });
  await call("POST", "/client/password", {
    headers,
    form: { oldpass: password, newpass: "a quite different Password", otp: otp(4) },
    status: 200,
  });
  await call("POST", "/client/logout", { headers: { cookie: `Service-Session=${session}` }, status: 200 });
  await core("POST", "/users/telemetry-user/reset", { password: "a Password by the administrator" });
  Object.assign(secrets, {
    password,
    "wrong password": "a second Guess at it",
    "validated password": "a first Guess at it",
    "new password": "a quite different Password",
    "reset password": "a Password by the administrator",
    "key secret": secret.toString("hex"),
    session,
    "attribute's value": "Snugglepot",
    "bad telephone": "Bluebell",
    ...Object.fromEntries([0, 1, 2, 3, 4].map(counter => [`OTP ${counter}`, otp(counter)])),
  });
}

async function keyIsOrdered(
  call: Call,
  { token, masterKey, peers }: { token: string; masterKey: string; peers: Peers },
  secrets: Record<string, string>,
): Promise<string> {
  const created = await call("POST", "/v2/credential-requests", { token, json: order, status: 201 });
  const id = (created.body as { data: { credential_request_id: string } }).data.credential_request_id;
  await call("GET", "/v2/operations/process-shipments", { token, status: 204 });
  peers.entra.fail({ kind: "throttle", method: "POST", path: "fido2Methods$", retryAfter: 1 });
  const process = () => call("POST", "/v2/operations/process-credential-requests", { token, status: 200 });
  peers.mail.fail({ kind: "throttle", method: "POST", retryAfter: 1 });
  // The throttled IdP and mail service are asked again at their time.
  const mailed = async () => {
    await process();
    return peers.mail.mails().length > 0;
  };
  await until(mailed, () => "the PIN was not mailed");
  for (const timer of ["dataCleanup", "sessionCleanup"]) {
    const started = await call("POST", `/admin/functions/${timer}`, {
      headers: { "x-functions-key": masterKey },
      json: {},
    });
    if (started.status !== 202) throw new Error(`${timer} was not started: ${started.status}`);
  }
  await call("POST", `/v2/credential-requests/${id}/resend-pin`, { token, status: 200 });
  await call("GET", `/v2/credential-requests/${id}`, { token, status: 200 });
  await call("GET", `/v2/credential-requests?user_id=${encodeURIComponent(person.user_id)}`, { token });
  const [key] = (await peers.delivery.shipments())[0]?.keys ?? [];
  if (key?.pin === undefined) throw new Error("the key has no PIN");
  secrets.PIN = key.pin;
  return id;
}
