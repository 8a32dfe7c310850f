import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDeployment } from "../../functions/deployment.ts";
import { apiTokensOf, identifyCaller } from "../../functions/identify-caller.ts";
import { Fault } from "../../lib/platform/fault.ts";
import type { Call } from "../../lib/platform/http/call.ts";
import { createLog } from "../../lib/platform/log.ts";
import { deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { readSettings } from "../../lib/platform/settings/read-settings.ts";
import { instant } from "../../lib/platform/time.ts";
import { startTokenIssuer, type TokenIssuer } from "../../local/peers/issuer/token-issuer.ts";
import { startVault, type Vault } from "../../local/peers/vault/vault.ts";

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

const checkOf = (environment: Readonly<Record<string, string>>) => {
  const settings = readSettings(deploymentSettings, {
    CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true",
    CLOUD_KEY_VAULT_ENDPOINT: vault.url,
    ...environment,
  });
  const deployment = {
    ...openDeployment(settings),
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

it("requests no static tokens if they are not configured", async () => {
  expect(await checkOf({})(`connector_known222_${"a".repeat(43)}`)).toBe("unauthenticated");
  expect(vault.requests()).toEqual([]);
});
