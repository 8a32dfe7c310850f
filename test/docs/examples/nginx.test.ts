import { copyFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../local/azure-host/free-port.ts";
import { startBrowser, type TestBrowser } from "../../local/console/browser.ts";
import { type AuthHost, startAuthHost } from "../../support/auth/host.ts";
import { whereInstalled } from "../../support/where-installed.ts";
import { programOf } from "../program-of.ts";
import { person } from "./auth-people.ts";
import { type Gateway, isInstalled, startGateway } from "./gateway.ts";

const isThere = isInstalled("nginx");
const password = "correct horse battery";

describe.skipIf(!isThere)(whereInstalled("the configuration for nginx", "nginx", isThere), () => {
  const asked: string[] = [];
  const application = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    asked.push(`${request.method} ${request.url} ${body}`);
    response.end("hello");
  });
  let auth: AuthHost;
  let gateway: Gateway;
  let browser: TestBrowser;
  /** Origin of the site, and of one whose authentication server is away. */
  let [site, siteAlone] = ["", ""];

  beforeAll(async () => {
    const [port, portAlone] = await Promise.all([freePort(), freePort()]);
    [site, siteAlone] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${portAlone}`];
    await new Promise<void>(resolve => application.listen(0, "127.0.0.1", resolve));
    const upstream = `127.0.0.1:${(application.address() as AddressInfo).port}`;
    [auth, browser] = await Promise.all([
      startAuthHost({ CLIENT_ALLOWED_ORIGINS: site, SESSION_COOKIE_SECURE: "false" }),
      startBrowser(),
    ]);
    const server = (directory: string, listen: number, authentication: string) => {
      const locations = programOf("docs/sign-in.md", "nginx")
        .replaceAll("https://auth.example.com", authentication)
        .replace("127.0.0.1:3000", upstream)
        .replace("/var/www/sign-in", directory);
      return `server { listen 127.0.0.1:${listen};\n${locations}}`;
    };
    const text = (directory: string) => {
      copyFileSync("docs/examples/auth-browser.html", join(directory, "sign-in.html"));
      const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(name => `${name}_temp_path ${directory}/${name};`)
        .join(" ");
      const servers = [
        server(directory, port, new URL(auth.clientUrl).origin),
        server(directory, portAlone, "http://127.0.0.1:1"),
      ];
      return `daemon off; user root; pid ${directory}/pid; error_log stderr; events {}
        http { access_log off; types { text/html html; } ${paths} ${servers.join("\n")} }`;
    };
    gateway = await startGateway(
      { name: "nginx.conf", text },
      directory => ["nginx", "-p", directory, "-c", join(directory, "nginx.conf"), "-e", "stderr"],
      () =>
        fetch(site).then(
          () => true,
          () => false,
        ),
    );
  });
  afterAll(async () => {
    application.close();
    await Promise.all([browser?.close(), gateway?.close()]);
  });

  it("admits no request without a session, with a wrong password or an invented session", async () => {
    const { name: username } = await person(auth, { name: "nginx1", password });
    const refused = await fetch(`${site}/client/login`, {
      method: "POST",
      body: new URLSearchParams({ username, password: "wrong" }),
    });
    expect([refused.status, refused.headers.get("set-cookie")]).toEqual([401, null]);
    for (const headers of [{}, { cookie: "Service-Session=invented" }, { "x-service-session": "invented" }]) {
      for (const method of ["GET", "POST"]) {
        const response = await fetch(`${site}/page`, { method, headers });
        expect([response.status, await response.text()]).toEqual([401, expect.stringContaining("Sign in")]);
      }
    }
    expect((await fetch(`${site}/session`)).status).toBe(404);
    expect(asked).toEqual([]);
  });

  it("admits every kind of request with a session, and none after its end", async () => {
    const { name: username } = await person(auth, { name: "nginx2", password });
    const login = await fetch(`${site}/client/login`, {
      method: "POST",
      headers: { origin: site },
      body: new URLSearchParams({ username, password }),
    });
    const [cookie = ""] = (login.headers.get("set-cookie") ?? "").split(";");
    const pages = (method: string, body?: string) =>
      fetch(`${site}/page?a=b`, { method, headers: { cookie, origin: site }, ...(body && { body }) });
    const before = asked.length;
    expect((await pages("GET")).status).toBe(200);
    expect((await pages("POST", "content")).status).toBe(200);
    expect(asked.slice(before)).toEqual(["GET /page?a=b ", "POST /page?a=b content"]);
    await fetch(`${site}/client/logout`, { method: "POST", headers: { cookie } });
    expect((await pages("GET")).status).toBe(401);
  });

  it("admits no request while the authentication server is away", async () => {
    const before = asked.length;
    expect((await fetch(siteAlone)).status).toBe(500);
    expect(asked).toHaveLength(before);
  });

  it("shows the page in a browser once the person has signed in with an OTP", async () => {
    const { name, nextOtp } = await person(auth, { name: "nginx3", password, withKey: true });
    const { page } = await browser.open(`${site}/`);
    await page.getByLabel("Username").fill(name);
    await page.getByLabel("Password").fill(password);
    await page.getByLabel("OTP").fill(nextOtp());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("is signed in with the key").waitFor();
    await page.goto(`${site}/`);
    await page.getByText("hello").waitFor();
  });
});
