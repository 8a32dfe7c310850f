import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isLocalService, managedIdentity } from "../../../../lib/platform/azure/services.ts";
import { type HttpCall, type Peer, startPeer } from "../../../../local/peers/peer.ts";

describe("the managed identity", () => {
  const scope = "https://storage.azure.com/.default";
  const timeoutMs = 10_000;
  const asked: HttpCall[] = [];
  let platform: Peer;

  // The platform sets these two variables to the address of the app's tokens.
  beforeAll(async () => {
    platform = await startPeer("identity", {
      handle: call => {
        asked.push(call);
        const isFirst =
          asked.filter(({ query }) => query.get("client_id") === call.query.get("client_id")).length === 1;
        if (call.query.get("client_id") === "slow" && isFirst) return new Promise(() => {});
        if (call.query.get("client_id") === "wrong") return { status: 400, body: { message: "no such identity" } };
        const expires_on = String(Math.floor(Date.now() / 1000) + 86_400);
        return { status: 200, body: { access_token: "token", expires_on, resource: "x", token_type: "Bearer" } };
      },
    });
    vi.stubEnv("IDENTITY_ENDPOINT", `${platform.url}/msi/token`);
    vi.stubEnv("IDENTITY_HEADER", "header");
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await platform.close();
  });

  test("gives the platform's token for the identity that is named", async () => {
    expect((await managedIdentity({ clientId: "our-client", timeoutMs }).getToken(scope))?.token).toBe("token");
    expect(asked.at(-1)?.query.get("client_id")).toBe("our-client");
    expect(asked.at(-1)?.query.get("resource")).toBe("https://storage.azure.com");
  });

  test("that gives no token is unavailable", async () => {
    await expect(managedIdentity({ clientId: "wrong", timeoutMs }).getToken(scope)).rejects.toMatchObject({
      kind: "unavailable",
    });
  });

  test("is unavailable after the time limit if the platform does not answer, and asked again by the next call", async () => {
    const identity = managedIdentity({ clientId: "slow", timeoutMs: 200 });
    await expect(identity.getToken(scope)).rejects.toMatchObject({ kind: "unavailable" });
    expect((await identity.getToken(scope))?.token).toBe("token");
  });
});

describe("an address", () => {
  test.each(["http://127.0.0.1:7071", "http://localhost/a", "HTTP://LOCALHOST:1"])("%s is on this machine", address => {
    expect(isLocalService(address)).toBe(true);
  });
  test.each(["https://a.vault.azure.net", "https://127.0.0.1"])("%s is spoken to with TLS", address => {
    expect(isLocalService(address)).toBe(false);
  });
  test.each([
    "http://a.vault.azure.net",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "http://127.0.0.1@example.com",
    "http://10.0.0.1",
    "ftp://127.0.0.1",
    "a.vault.azure.net",
    "",
  ])("%j is refused", address => {
    expect(() => isLocalService(address)).toThrow();
  });
  test("is refused without its user and password in the error", () => {
    expect(() => isLocalService("http://user:hush@example.com/a?sig=hush")).toThrow("http://example.com is refused");
  });
});
