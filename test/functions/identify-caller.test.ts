import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDeployment } from "../../functions/deployment.ts";
import { apiTokensOf, identifyCaller } from "../../functions/identify-caller.ts";
import { hashToken } from "../../lib/platform/azure/api-tokens.ts";
import { Fault } from "../../lib/platform/fault.ts";
import type { Call } from "../../lib/platform/http/call.ts";
import { createLog } from "../../lib/platform/log.ts";
import { deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { readSettings } from "../../lib/platform/settings/read-settings.ts";
import { instant } from "../../lib/platform/time.ts";
import { startTokenIssuer, type TokenIssuer } from "../../local/peers/issuer/token-issuer.ts";
import { startVault, type Vault } from "../../local/peers/vault/vault.ts";
import type { Limits } from "../support/host/limits.ts";

let issuer: TokenIssuer;
let vault: Vault;
let time: number;
/** Every address that was fetched. */
let fetched: string[];

beforeAll(async () => {
  [issuer, vault] = await Promise.all([startTokenIssuer(), startVault()]);
  vault.set("data-encryption-key", randomBytes(32).toString("base64url"));
});
beforeEach(() => {
  // A little ahead: a token that is minted in the test is valid from its second on.
  time = Date.now() + 60_000;
  fetched = [];
  vault.resetRequests();
});
afterAll(() => Promise.all([issuer.close(), vault.close()]));

const audience = "api://connector";
const role = "Connector.Call";

const checkOf = (environment: Readonly<Record<string, string>>, limits: Limits = {}) => {
  const settings = readSettings(deploymentSettings, {
    CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true",
    CLOUD_KEY_VAULT_ENDPOINT: vault.url,
    ...environment,
  });
  const deployment = {
    ...openDeployment(settings, { limits }),
    now: () => instant(time),
    log: createLog(() => {}),
    // The public address of the tenant's keys replaces that of the simulated issuer.
    fetch: (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
      fetched.push(String(input));
      return fetch(String(input).startsWith("https://login.microsoftonline.com/") ? issuer.jwksUri : input, init);
    },
  };
  const identify = identifyCaller(deployment, { api: "connector", tokens: apiTokensOf(deployment, "connector") });
  const callWith = (headers: Headers) => ({ headers }) as Pick<Call, "headers"> as Call;
  return (token: string) =>
    identify("caller", callWith(new Headers({ authorization: `Bearer ${token}` }))).then(
      ({ caller }) => `${caller?.kind}:${caller?.application}`,
      (error: unknown) => (error instanceof Fault ? error.kind : error),
    );
};

describe("tokens of the customer's tenant", () => {
  it("may be of either form of an Entra tenant's issuer, and of no other", async () => {
    const check = checkOf({ CLOUD_TENANT_ID: issuer.tenantId, CALLER_AUDIENCES: `api://other, ${audience}` });
    const asked = async (from: string) =>
      check(await issuer.mint({ audience, roles: [role], azp: "app", issuer: from }));
    expect(await asked(`https://login.microsoftonline.com/${issuer.tenantId}/v2.0`)).toBe("tenant:app");
    expect(await asked(`https://sts.windows.net/${issuer.tenantId}/`)).toBe("tenant:app");
    expect(await asked("https://login.microsoftonline.com/common/v2.0")).toBe("unauthenticated");
    expect(await asked(issuer.issuer)).toBe("unauthenticated");
    expect(fetched).toEqual([`https://login.microsoftonline.com/${issuer.tenantId}/discovery/v2.0/keys`]);
  });

  it("may be of issuers and keys in the settings", async () => {
    const environment = {
      CALLER_AUDIENCES: audience,
      CALLER_ISSUERS: issuer.issuer,
      CALLER_JWKS_ENDPOINT: issuer.jwksUri,
    };
    const token = await issuer.mint({ audience, roles: [role], azp: "app" });
    expect(await checkOf(environment)(token)).toBe("tenant:app");
    expect(await checkOf({ ...environment, CALLER_ISSUERS: "https://other.example" })(token)).toBe("unauthenticated");
  });

  it("are not accepted without an audience in the settings", async () => {
    const check = checkOf({ CLOUD_TENANT_ID: issuer.tenantId });
    expect(await check(await issuer.mint({ audience, roles: [role] }))).toBe("unauthenticated");
    expect(fetched).toEqual([]);
  });
});

describe("static tokens", () => {
  const make = (id: string) => {
    const token = `connector_${id}_${randomBytes(32).toString("base64url")}`;
    const hash = { id, name: id, sha256: hashToken(token), createdAt: instant(time) };
    // The use of the day is recorded already: recording it would be one more read.
    return { token, hash: { ...hash, lastUsedOn: "9999-12-31" } };
  };
  const name = "connector-api-tokens";
  const keep = (...tokens: readonly ReturnType<typeof make>[]) => {
    for (const { hash } of tokens) vault.set(name, hash.id, hash);
  };
  const reads = () =>
    vault.requests().filter(({ method, path, status }) => method === "GET" && path.includes(name) && status === 200)
      .length;

  it("are read from the vault, and again after 5 minutes, whatever unknown ones are presented", async () => {
    const [old, young] = [make("old22222"), make("young222")];
    keep(old);
    const check = checkOf({ CALLER_STATIC_TOKENS: "true" });
    expect(await check(old.token)).toBe("api_token:old22222");
    time += 299_000;
    expect(await check(old.token)).toBe("api_token:old22222");
    expect(reads()).toBe(1);

    // The vault has it, but it has no tag by which the host knows that its service created it.
    keep(young);
    expect(await check(young.token)).toBe("unauthenticated");
    expect(await check(make("unknown2").token)).toBe("unauthenticated");
    expect(reads()).toBe(1);
    time += 1_000;
    expect(await check(young.token)).toBe("api_token:young222");
    expect(reads()).toBe(2);
  });

  it("are unknown, every one, where the vault has none", async () => {
    const empty = await startVault();
    empty.set("data-encryption-key", randomBytes(32).toString("base64url"));
    const check = checkOf({ CALLER_STATIC_TOKENS: "true", CLOUD_KEY_VAULT_ENDPOINT: empty.url });
    expect(await check(make("nobody22").token)).toBe("unauthenticated");
    await empty.close();
    expect(
      await checkOf(
        { CALLER_STATIC_TOKENS: "true", CLOUD_KEY_VAULT_ENDPOINT: empty.url },
        { storageCallMs: 1000 },
      )(make("nobody22").token),
    ).toBe("unavailable");
  });

  it("are not requested if they are not configured", async () => {
    const token = make("known222");
    keep(token);
    expect(await checkOf({})(token.token)).toBe("unauthenticated");
    expect(reads()).toBe(0);
  });
});
