import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Peer, startPeer } from "../../../local/peers/peer.ts";
import { startBrowser } from "../../local/console/browser.ts";
import { startAuthHost } from "../../support/auth/host.ts";
import { yubicoKey } from "../../support/auth/software-key.ts";
import { simulatedServer } from "../../support/auth/validation-server.ts";
import { person } from "./auth-people.ts";
import { type Program, startProgram } from "./auth-program.ts";

const password = "Pässword, with: all = of & it";

const auth = await startAuthHost();

/** Issues a temporary code for an OTP key. */
async function temporaryCode(prefix: string): Promise<string> {
  const validUntil = new Date(Date.now() + 3_600_000).toISOString();
  const { body } = await auth.core("POST", `/otpkeys/${prefix}/temporary-code`, { valid_until: validUntil });
  return (body as { code: string }).code;
}

describe("a session without a browser", () => {
  const session = (env: Readonly<Record<string, string>>) =>
    startProgram("auth-session.mjs", { AUTH_URL: auth.clientUrl, ...env }).ended;

  it("is opened, inspected and closed by cookie", async () => {
    const { name, key, nextOtp } = await person(auth, { name: "sess", password, withKey: true });
    const run = await session({ AUTH_USERNAME: name, AUTH_PASSWORD: password, AUTH_OTP: nextOtp() });
    const [first, ...rest] = run.out.split("\n");
    expect(first).toMatch(/^sess \(\d+\) is signed in since \d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(rest).toEqual([`with the key ${key.prefix}`, "logout: true", "status: 401 Session required!", ""]);
    expect(run).toMatchObject({ code: 0, error: "" });
  });

  it("is none where credentials are wrong or not sufficient", async () => {
    const { name } = await person(auth, { name: "sess2", password, withKey: true });
    expect(await session({ AUTH_USERNAME: name, AUTH_PASSWORD: password })).toEqual({
      code: 1,
      out: "",
      error: "login: 401 Invalid credentials!\n",
    });
  });

  it("prints how long to wait, also after an answer without a body and without that time", async () => {
    const answers = [{ status: 429 }, { status: 429, body: { error: "Locked." }, headers: { "retry-after": "30" } }];
    const other = await startPeer("busy", { handle: () => answers.shift() ?? { status: 500 } });
    onTestFinished(() => other.close());
    const first = await session({ AUTH_URL: other.url });
    const second = await session({ AUTH_URL: other.url });
    expect([first, second].map(({ code, error }) => [code, error])).toEqual([
      [1, "login: 429 The server does not respond as expected. Wait a few seconds.\n"],
      [1, "login: 429 Locked. Wait 30 seconds.\n"],
    ]);
  });
});

describe("a RADIUS server's program", () => {
  const radius = (env: Readonly<Record<string, string>>, url = auth.clientUrl) =>
    startProgram("auth-radius.mjs", env, [url]).ended;

  it("accepts where the answer's body is `true`, and rejects else; an OTP passes once", async () => {
    const { name, nextOtp } = await person(auth, { name: "radius", password, withKey: true });
    const typed = `${password},${nextOtp()}`;
    expect(await radius({ "User-Name": name, "User-Password": typed })).toEqual({ code: 0, out: "", error: "" });
    expect((await radius({ "User-Name": name, "User-Password": typed })).code).toBe(1);
    expect((await radius({ "User-Name": name, "User-Password": password })).code).toBe(1);
    expect((await radius({ "User-Name": name, "User-Password": `wrong,${nextOtp()}` })).code).toBe(1);
    expect((await radius({})).code).toBe(1);
  });

  it("ignores white space in the OTP, and changes nothing in the password", async () => {
    const own = ` ${password}, 1 `;
    const { name, nextOtp } = await person(auth, { name: "radius-space", password: own, withKey: true });
    const program = async (typed: string) => (await radius({ "User-Name": name, "User-Password": typed })).code;
    const spaced = () => nextOtp().replace(/...$/, end => ` ${end}\r\n`);
    expect([await program(`${own}, ${spaced()}`), await program(`${own.trim()},${nextOtp()}`)]).toEqual([0, 1]);
  });

  it("fails, and says why, where the module escapes for a shell", async () => {
    expect(await radius({ USER_NAME: '"alice"', USER_PASSWORD: '"secret"' })).toMatchObject({
      code: 2,
      error: expect.stringContaining("shell_escape = no"),
    });
  });

  it("accepts the temporary code of a lost OTP key in place of an OTP", async () => {
    const { name, key } = await person(auth, { name: "radius-lost", password, withKey: true });
    expect(
      (await radius({ "User-Name": name, "User-Password": `${password},${await temporaryCode(key.prefix)}` })).code,
    ).toBe(0);
  });

  it("fails over while the validation servers are away, whether or not the password is right, and accepts afterwards", async () => {
    const validationKey = Buffer.from("twenty letters it is");
    const server = await simulatedServer(validationKey);
    const asking = await startAuthHost(
      { OTP_VALIDATION_URLS: server.url, OTP_VALIDATION_CLIENT_ID: server.clientId, AUTH_THROTTLE_FAILURES: "3" },
      { "otp-validation-key": validationKey.toString("base64") },
    );
    onTestFinished(() => server.close());
    const key = yubicoKey();
    server.add(key);
    const { name } = await person(asking, { name: "outage", password });
    await asking.core("POST", `/users/${name}/otpkeys`, { otpkey: key.prefix });
    const program = async (text: string, use: number) =>
      (await radius({ "User-Name": name, "User-Password": `${text},${key.otp(use)}` }, asking.clientUrl)).code;
    server.fail({ kind: "refuse", status: 500, times: 1000 });
    const codes: (number | null)[] = [];
    for (let use = 1; use <= 5; use++) codes.push(await program(use % 2 ? password : "wrong", use));
    expect(codes).toEqual(Array(5).fill(2));
    server.clearFaults();
    expect(await program(password, 6)).toBe(0);
  });

  it("accepts only `true`, and distinguishes failures from refusals", async () => {
    let answer: { status: number; body?: unknown; headers?: Record<string, string> } = { status: 200 };
    const other = await startPeer("no authentication server", { handle: () => answer });
    const codes: Record<string, number | null> = {};
    for (answer of [
      { status: 200, body: "false" },
      { status: 200, body: '"true"' },
      { status: 200, body: "<html>true</html>" },
      { status: 429, body: {}, headers: { "retry-after": "30" } },
      { status: 429 },
      { status: 503, body: {} },
      { status: 302, body: "true" },
    ])
      codes[`${answer.status} ${JSON.stringify(answer.body)}`] = (
        await radius({ "User-Name": "a", "User-Password": "b" }, other.url)
      ).code;
    await other.close();
    expect(codes).toEqual({
      '200 "false"': 1,
      '200 "\\"true\\""': 1,
      '200 "<html>true</html>"': 1,
      "429 {}": 6,
      "429 undefined": 2,
      "503 {}": 2,
      '302 "true"': 2,
    });
    const rejected = await radius({ "User-Name": "a", "User-Password": "top secret" }, other.url);
    expect(rejected).toMatchObject({ code: 2, error: expect.stringContaining("is not responding") });
    expect(rejected.error).not.toContain("top secret");
  });
});

describe("HTTP Basic authentication in front of an application", () => {
  /** What the application was asked. */
  const asked: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const application = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    let body = "";
    for await (const chunk of request) body += chunk;
    asked.push({ method, url, headers, body });
    response.writeHead(201, { "x-application": "yes" }).end(`hello ${headers["x-remote-user"]}`);
  });
  let front: Program;
  let url: string;
  let watched: Peer;

  beforeAll(async () => {
    application.listen(0, "127.0.0.1");
    // Counts the calls of the front, with configurable failures.
    watched = await startPeer("watched", {
      handle: async ({ method, path, body, headers }) => {
        const type = headers["content-type"] ?? "";
        const sent = { method, body: new Uint8Array(body), headers: { "content-type": type } };
        const answer = await fetch(auth.clientUrl + path, sent);
        return { status: answer.status, body: await answer.text() };
      },
    });
    const { port } = application.address() as AddressInfo;
    front = startProgram("auth-basic-front.mjs", {
      AUTH_URL: watched.url,
      UPSTREAM: `http://127.0.0.1:${port}`,
      PORT: "0",
    });
    url = await front.started;
  });
  afterAll(async () => {
    front?.child.kill();
    await front?.ended;
    await watched?.close();
    application.close();
  });

  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) => fetch(url + path, { headers });

  it("admits no user without credentials or with wrong ones", async () => {
    await person(auth, { name: "basic1", password });
    for (const headers of [
      {},
      basic("basic1:wrong"),
      basic("nobody:wrong"),
      basic("no colon"),
      basic(":"),
      { authorization: "Basic !" },
      { authorization: "Bearer abc" },
      { "x-remote-user": "basic1" },
    ]) {
      const response = await get("/", headers);
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe('Basic realm="application", charset="UTF-8"');
    }
    expect(asked).toEqual([]);
  });

  it("passes a request on with the user's name in one spelling, and without the password or a made-up name", async () => {
    await person(auth, { name: "Bäsic", password });
    const response = await fetch(`${url}/some/path?a=b`, {
      method: "PUT",
      headers: { ...basic(`BÄSIC:${password}`), "x-remote-user": "root", X_Remote_User: "root", "x-own": "kept" },
      body: "content",
    });
    expect([response.status, response.headers.get("x-application")]).toEqual([201, "yes"]);
    expect(await response.text()).toBe("hello b%C3%A4sic");
    const { method, url: path, headers, body } = asked.at(-1) ?? {};
    expect([method, path, body, headers?.["x-own"]]).toEqual(["PUT", "/some/path?a=b", "content", "kept"]);
    expect(headers).not.toHaveProperty("authorization");
    expect(JSON.stringify(headers)).not.toContain("root");
  });

  it("takes the OTP at the end of the password, once, for as long as the header is remembered", async () => {
    const { name, nextOtp } = await person(auth, { name: "basic3", password, withKey: true });
    const header = basic(`${name}:${password},${nextOtp()}`);
    watched.resetRequests();
    // A page with its pictures, all at a time.
    const answers = await Promise.all(Array.from({ length: 6 }, () => get("/", header)));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201));
    expect((await get("/", header)).status).toBe(201);
    expect(watched.count("POST", /authenticate/)).toBe(1);
    // The same OTP in another header is another question.
    const spelt = { authorization: header.authorization.replace("Basic", "basic") };
    expect((await get("/", spelt)).status).toBe(401);
    expect((await get("/", basic(`${name}:${password}`))).status).toBe(401);
    expect((await get("/", basic(`${name}:${password},${nextOtp()}`))).status).toBe(201);
  });

  it("signs a person in with a browser's own dialog", async () => {
    const { name, nextOtp } = await person(auth, { name: "basic-browser", password, withKey: true });
    const browser = await startBrowser();
    onTestFinished(() => browser.close());
    const httpCredentials = { username: name, password: `${password}, ${nextOtp()}` };
    const { page } = await browser.open(`${url}/`, { httpCredentials });
    await page.getByText(`hello ${name}`).waitFor();
  });

  it("takes the temporary code of a lost OTP key in place of an OTP", async () => {
    const { name, key } = await person(auth, { name: "basic-lost", password, withKey: true });
    const code = await temporaryCode(key.prefix);
    expect((await get("/", basic(`${name}:${password},${code}`))).status).toBe(201);
  });

  it("lets no path choose another host", async () => {
    await person(auth, { name: "basic4", password });
    const before = asked.length;
    expect((await get("//127.0.0.1:1/x", basic(`basic4:${password}`))).status).toBe(201);
    expect(asked.slice(before).map(({ url: path }) => path)).toEqual(["//127.0.0.1:1/x"]);
  });

  it("admits no user while the authentication server is away, throttles or returns nonsense, and reports it", async () => {
    const before = asked.length;
    await person(auth, { name: "basic5", password });
    const header = basic(`basic5:${password}`);
    const statuses: number[] = [];
    for (const rule of [
      { kind: "refuse", status: 503 },
      { kind: "drop" },
      { kind: "nonsense" },
      { kind: "nonsense", body: '"true"' },
      { kind: "throttle", retryAfter: 7 },
      { kind: "nonsense", status: 429, body: "" },
    ] as const) {
      watched.fail(rule);
      const { status, headers } = await get("/", header);
      statuses.push(status);
      if (status !== 401) expect(headers.get("retry-after")).toMatch(/^\d+$/);
    }
    expect(statuses).toEqual([503, 503, 503, 401, 429, 429]);
    expect(asked).toHaveLength(before);
    // None of that is remembered.
    expect((await get("/", header)).status).toBe(201);
  });
});
