import { SecretClient } from "@azure/keyvault-secrets";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startVault, type Vault } from "../../../../local/peers/vault/vault.ts";

let vault: Vault;
let client: SecretClient;

/** The client takes a challenge over https only, so it is given an https address and speaks http behind its back. */
const clientOf = (url: string) =>
  new SecretClient(
    url.replace("http:", "https:"),
    { getToken: () => Promise.resolve({ token: "any", expiresOnTimestamp: Date.now() + 3_600_000 }) },
    {
      allowInsecureConnection: true,
      disableChallengeResourceVerification: true,
      retryOptions: { maxRetries: 0 },
      additionalPolicies: [
        {
          position: "perRetry",
          policy: {
            name: "plainHttp",
            sendRequest: async (request, next) => {
              const { url } = request;
              request.url = url.replace("https:", "http:");
              try {
                return await next(request);
              } finally {
                request.url = url;
              }
            },
          },
        },
      ],
    },
  );

beforeEach(async () => {
  vault = await startVault({ secrets: { given: "from the start" } });
  client = clientOf(vault.url);
});

afterEach(() => vault.close());

test("versions are listed page by page with their tags, and a version that is disabled stays so", async () => {
  for (let n = 0; n < 30; n++) await client.setSecret("key", "hidden", { tags: { n: String(n) } });
  const versions = await Array.fromAsync(client.listPropertiesOfSecretVersions("key"));
  expect(vault.count("GET", /versions$/)).toBe(2);
  expect(versions.map(({ tags }) => tags?.n)).toEqual(Array.from({ length: 30 }, (_, n) => String(n)));
  await client.updateSecretProperties("key", versions[3]?.version ?? "", { enabled: false });
  await client.setSecret("key", "one more");
  const after = await Array.fromAsync(client.listPropertiesOfSecretVersions("key"));
  expect(after.filter(({ enabled }) => !enabled).map(({ tags }) => tags)).toEqual([{ n: "3" }]);
});

test("a call without a token is challenged and changes nothing", async () => {
  const answer = await fetch(`${vault.url}/secrets/given?api-version=7.6`, { method: "PUT", body: '{"value":"x"}' });
  expect(answer.status).toBe(401);
  expect(answer.headers.get("www-authenticate")).toContain('resource="https://vault.azure.net"');
  expect(vault.get("given")).toBe("from the start");
});

test("a bad name and a bad body are refused", async () => {
  const put = (name: string, body: unknown) =>
    fetch(`${vault.url}/secrets/${name}?api-version=7.6`, {
      method: "PUT",
      headers: { authorization: "Bearer any" },
      body: JSON.stringify(body),
    });
  expect((await put("a_b", { value: "x" })).status).toBe(400);
  expect((await put("a-b", { value: 1 })).status).toBe(400);
  expect((await put("a-b", { value: "x".repeat(25_601) })).status).toBe(400);
  expect((await put("a-b", { value: "x".repeat(25_600) })).status).toBe(200);
  expect(() => vault.set("a_b", "x")).toThrow();
});
