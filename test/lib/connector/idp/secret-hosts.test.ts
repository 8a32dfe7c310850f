import { describe, expect, test } from "vitest";
import {
  fetchFromSecretHosts,
  isHostEntry,
  isSecretHost,
  secretHostProblems,
  vendorHosts,
  withoutLoopback,
} from "../../../../lib/connector/idp/secret-hosts.ts";
import { oddServer } from "../../../support/connector/peer-tools.ts";
import { idpSettings } from "./idp-tools.ts";

describe("the hosts that may get an IdP's secrets", () => {
  test.each([
    "https://login.microsoftonline.com",
    "https://LOGIN.MicrosoftOnline.COM:443/",
    "https://openam-tenant-1.forgeblocks.com/am",
    // The vendor's host, and evil.example no more than a path.
    "https://login.microsoftonline.com\\@evil.example",
  ])("are by default the vendors' own: %s", address => {
    expect(isSecretHost(address, vendorHosts)).toBe(true);
  });

  test.each([
    "https://evil.example",
    "https://evil-login.microsoftonline.com",
    "https://evil.login.microsoftonline.com",
    "https://microsoftonline.com",
    "https://login.microsoftonline.com.evil.example",
    "https://login.microsoftonline.com.",
    "https://login.microsoftonline.com:8443",
    "https://login.microsoftonline.com@evil.example",
    "https://evil.example\\login.microsoftonline.com",
    "https://evil.example?login.microsoftonline.com",
    "https://auth.pingone.evil.example",
    "https://a.b.forgeblocks.com",
    "https://forgeblocks.com",
    "https://evilforgeblocks.com",
    "http://localhost",
    "",
  ])("are no other hosts: %s", address => {
    expect(isSecretHost(address, vendorHosts)).toBe(false);
  });

  test("are written as a URL writes them, with a wildcard for one label before at least two", () => {
    for (const entry of ["a.example", "a.example:8443", "*.a.example", "localhost", "127.0.0.1:1", "[::1]:1"])
      expect(isHostEntry(entry), entry).toBe(true);
    for (const entry of [
      "",
      "*",
      "*.",
      "*.com",
      "*.*.example",
      "a.*.example",
      "*a.example",
      "A.example",
      "ä.example",
      "a.example/",
      "a.example:443",
      "https://a.example",
      "user@a.example",
      "a.example?x",
      "a.example#x",
      "a b",
    ])
      expect(isHostEntry(entry), entry).toBe(false);
    for (const entry of vendorHosts) expect(isHostEntry(entry), entry).toBe(true);
    expect(isSecretHost("https://a.b.example", ["*.b.example"])).toBe(true);
    expect(isSecretHost("https://a.b.example:8443", ["*.b.example"])).toBe(false);
    expect(isSecretHost("https://a.b.example:8443", ["*.b.example:8443"])).toBe(true);
  });

  test("do not include the loopback in Azure", () => {
    expect(
      withoutLoopback([
        "localhost",
        "localhost:1",
        "127.0.0.1:7001",
        "127.1.2.3",
        "[::1]:1",
        "127.0.0.1.example",
        "a.example",
      ]),
    ).toEqual(["127.0.0.1.example", "a.example"]);
  });

  test("are checked for every address of every kind", () => {
    const ping = { "api-base-url": "https://api.pingone.eu", "auth-base-url": "https://auth.pingone.eu" };
    const kinds: Record<string, unknown>[] = [
      { type: "entra", "tenant-id": "t", "client-id": "c" },
      { type: "entra", "managed-identity": true },
      { type: "pingone", "environment-id": "e", "client-id": "c", "default-relying-party": "k.example", ...ping },
      { type: "aic", realm: "a", journey: "j", "client-id": "c", ...ping },
    ];
    for (const least of kinds) {
      expect(secretHostProblems(idpSettings(least), vendorHosts)).toEqual([]);
      const urls = Object.entries(idpSettings(least)).filter(([, value]) => String(value).startsWith("https:"));
      expect(urls).toHaveLength(2);
      for (const [key] of urls) {
        const problems = secretHostProblems(idpSettings({ ...least, [key]: "https://evil.example" }), vendorHosts);
        // No secret is sent there for a managed identity.
        const isFree = key === "online-endpoint" && least["managed-identity"] === true;
        expect(problems.map(({ path }) => path)).toEqual(isFree ? [] : [key]);
      }
    }
  });

  test("are the only ones that a call reaches, by any form of address and by any redirect", async () => {
    const reached: string[] = [];
    const other = await oddServer((request, response) => {
      reached.push(request.url ?? "");
      response.end();
    });
    const vendor = await oddServer((_, response) => response.writeHead(307, { location: `${other}/redirected` }).end());
    const guarded = fetchFromSecretHosts(fetch, [new URL(vendor).host]);
    for (const address of [other, new URL(other), new Request(other)])
      await expect(guarded(address)).rejects.toMatchObject({ name: "SecretHostError" });
    expect((await guarded(vendor, { redirect: "manual" })).status).toBe(307);
    expect(reached).toEqual([]);
  });
});
