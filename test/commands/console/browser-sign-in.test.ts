// The certificate library's container looks for this polyfill while it loads.
import "reflect-metadata";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";
import { UnsecuredJWT } from "jose";
import { describe, expect, onTestFinished, test } from "vitest";
import { startAuthHost } from "../../support/auth/host.ts";
import { compileCache } from "../../support/host/compile-cache.ts";

const auth = await startAuthHost();
const authority = "login.microsoftonline.com";
const tenant = "11111111-2222-3333-4444-555555555555";
const app = "66666666-7777-8888-9999-aaaaaaaaaaaa";
const person = "bbbbbbbb-cccc-dddd-eeee-ffffffffffff";

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Returns a key and a certificate of the authority, which a process trusts only if it is configured to. */
async function selfSigned() {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: `CN=${authority}`,
    keys,
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: "dns", value: authority }])],
  });
  const key = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return { key: `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`, cert: certificate.toString("pem") };
}

/**
 * Starts the authority of the public cloud behind a proxy, so that the library of the vendor is called as in a deployment.
 * Returns its forms of the token endpoint, and what a command needs to reach it.
 */
async function startAuthority(folder: string, expiresInSeconds: number) {
  const forms: URLSearchParams[] = [];
  const base = `https://${authority}/${tenant}`;
  const metadata = {
    issuer: `${base}/v2.0`,
    authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
    token_endpoint: `${base}/oauth2/v2.0/token`,
    jwks_uri: `${base}/discovery/v2.0/keys`,
  };
  const respond = async (request: IncomingMessage): Promise<object> => {
    if (!request.url?.includes("/token?")) return metadata;
    forms.push(new URLSearchParams(await text(request)));
    const idToken = {
      iss: metadata.issuer,
      aud: app,
      tid: tenant,
      oid: person,
      sub: person,
      preferred_username: "ada",
    };
    return {
      token_type: "Bearer",
      scope: "api://local/Calls",
      expires_in: expiresInSeconds,
      access_token: auth.tenantToken,
      id_token: new UnsecuredJWT(idToken).setIssuedAt().setExpirationTime("1h").encode(),
      client_info: Buffer.from(JSON.stringify({ uid: person, utid: tenant })).toString("base64url"),
    };
  };
  const identity = await selfSigned();
  const tls = await listening(
    createTlsServer(identity, async (request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(await respond(request)));
    }),
  );
  const asked: string[] = [];
  const proxy = createServer().on("connect", ({ url = "" }: IncomingMessage, client: Socket) => {
    asked.push(url);
    const upstream = connect(tls, "127.0.0.1", () => client.write("HTTP/1.1 200 Connected\r\n\r\n"));
    upstream.pipe(client).pipe(upstream);
    for (const socket of [client, upstream]) socket.on("error", () => socket.destroy());
  });
  const cert = join(folder, "authority.pem");
  writeFileSync(cert, identity.cert);
  const env = { NODE_EXTRA_CA_CERTS: cert, HTTPS_PROXY: `http://127.0.0.1:${await listening(proxy)}` };
  return { env, forms, asked };
}

/** Starts what is called in place of a browser. Returns the addresses that it was given. */
async function startBrowserDouble(folder: string) {
  const opened: URL[] = [];
  const port = await listening(
    createServer(async (request, response) => {
      opened.push(new URL(await text(request)));
      response.end();
    }),
  );
  const script = join(folder, "browser");
  const program = `fetch("http://127.0.0.1:${port}", { method: "POST", body: process.argv[1] })`;
  writeFileSync(script, `#!/bin/sh\nexec '${process.execPath}' -e '${program}' "$1"\n`);
  chmodSync(script, 0o755);
  return { opened, env: { BROWSER: script } };
}

/** Starts the console of an operator who signs in by a browser, and waits until the browser is opened. */
async function startSignIn({ expiresInSeconds = 3600 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "browser-"));
  const [entra, browser] = await Promise.all([startAuthority(folder, expiresInSeconds), startBrowserDouble(folder)]);
  const apis = ["--core", auth.coreUrl, "--connector", auth.connectorUrl];
  const way = ["--sign-in", "browser", "--resource", "api://local"];
  const child = spawn(process.execPath, ["commands/console.ts", ...apis, ...way], {
    env: {
      PATH: process.env.PATH,
      ...compileCache,
      ...entra.env,
      ...browser.env,
      AZURE_TENANT_ID: tenant,
      AZURE_CLIENT_ID: app,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill());
  await expect.poll(() => browser.opened.length, { timeout: 60_000 }).toBe(1);
  const [{ origin, pathname, searchParams } = new URL("none:")] = browser.opened;
  const asked = Object.fromEntries(searchParams);
  /** Answers the last window as the authority does: by a form that the browser posts, not in an address that it keeps. */
  const respond = (fields: Readonly<Record<string, string>>) => {
    const { redirect_uri, state = "" } = Object.fromEntries(browser.opened.at(-1)?.searchParams ?? []);
    return fetch(`${redirect_uri}/`, { method: "POST", body: new URLSearchParams({ ...fields, state }) });
  };
  return { child, entra, opened: browser.opened, address: origin + pathname, asked, respond };
}

/** Returns a function that calls the console, which prints its address after the sign-in. */
function consoleOf(child: { readonly stdout: Readable }): (path: string) => Promise<Response> {
  const printed = once(createInterface({ input: child.stdout }), "line");
  return async path => {
    const [line] = await printed;
    const console = new URL(/^Console: (\S+)$/.exec(line)?.[1] ?? "");
    return fetch(new URL(path, console), { headers: { "x-console": console.hash.replace("#key=", "") } });
  };
}

describe.runIf(process.platform === "linux")("an operator who signs in by a browser", () => {
  test("does so once for both APIs of the console", async () => {
    const { child, entra, opened, address, asked, respond } = await startSignIn();
    expect(address).toBe(`https://${authority}/${tenant}/oauth2/v2.0/authorize`);
    expect(asked).toMatchObject({
      client_id: app,
      response_type: "code",
      response_mode: "form_post",
      code_challenge_method: "S256",
      redirect_uri: expect.stringMatching(/^http:\/\/localhost:\d+$/),
    });
    expect(asked.scope?.split(" ")).toContain("api://local/.default");
    const console = consoleOf(child);
    expect((await respond({ code: "the-code" })).status).toBe(200);
    expect(await (await console("/api/facts")).json()).toMatchObject({
      roles: { core: expect.arrayContaining(["admin"]), connector: expect.arrayContaining(["call"]) },
    });
    const [form, ...others] = entra.forms;
    expect(Object.fromEntries(form ?? [])).toMatchObject({
      grant_type: "authorization_code",
      client_id: app,
      code: "the-code",
      redirect_uri: asked.redirect_uri,
    });
    const verifier = form?.get("code_verifier") ?? "";
    expect(createHash("sha256").update(verifier).digest("base64url")).toBe(asked.code_challenge);
    expect([others, opened.length]).toEqual([[], 1]);
    expect(new Set(entra.asked)).toEqual(new Set([`${authority}:443`]));
  });

  test("gets one other window when the sign-in has expired, and an error in place of more if that one fails", async () => {
    // Each token is renewed at the next call, and the authority has given nothing to renew it with.
    const { child, opened, respond } = await startSignIn({ expiresInSeconds: 60 });
    const console = consoleOf(child);
    await respond({ code: "the-code" });
    const calls = Promise.all([console("/api/host/core/users"), console("/api/host/core/otpkeys")]);
    await expect.poll(() => opened.length, { timeout: 60_000 }).toBe(2);
    await respond({ error: "access_denied", error_description: "AADSTS70043: The sign-in has expired." });
    for (const response of [...(await calls), await console("/api/host/core/users")]) {
      expect(await response.json()).toEqual({
        error: expect.stringMatching(/the sign-in failed, start the command again: .*AADSTS70043/i),
      });
    }
    expect(opened).toHaveLength(2);
  });

  test("shows why the tenant refuses, and no other window is opened", async () => {
    const { child, opened, respond } = await startSignIn();
    const [ended, error] = [once(child, "close"), text(child.stderr)];
    await respond({ error: "access_denied", error_description: "AADSTS50105: The user is not assigned to a role." });
    expect(await ended).toEqual([2, null]);
    expect(await error).toContain("AADSTS50105: The user is not assigned to a role.");
    expect(opened).toHaveLength(1);
  });
});
