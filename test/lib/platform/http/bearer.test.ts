import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Caller } from "../../../../lib/platform/caller.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { createBearerCheck } from "../../../../lib/platform/http/bearer.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { instant } from "../../../../lib/platform/time.ts";
import { startTokenIssuer, type TokenIssuer } from "../../../../local/peers/issuer/token-issuer.ts";

const audience = "api://connector";
const role = "Connector.Call";
let issuer: TokenIssuer;

beforeAll(async () => {
  issuer = await startTokenIssuer();
});
beforeEach(() => {
  issuer.clearFaults();
});
afterAll(() => issuer.close());

const check = (options: Partial<Parameters<typeof createBearerCheck>[0]>) =>
  createBearerCheck({
    api: "connector",
    fetch,
    now: () => instant(Date.now()),
    log: createLog(() => {}),
    ...options,
  });
const tokens = { check: async (token: string): Promise<Caller> => ({ kind: "api_token", application: token }) };
const tenant = () => ({
  issuers: ["https://other.example/", issuer.issuer],
  audiences: ["api://other", audience],
  jwksUrl: issuer.jwksUri,
});
const bearer = (token: string) => new Headers({ authorization: `Bearer ${token}` });

/** The caller that the check returns, or the kind of the refusal. */
const outcome = (checked: Promise<Caller>) =>
  checked.then(
    ({ kind, application }) => `${kind}:${application}`,
    (error: unknown) => (error instanceof Fault ? error.kind : error),
  );

type Mint = Parameters<TokenIssuer["mint"]>[0];

describe("a token of the customer's tenant", () => {
  const asked = async (mint: Partial<Mint>, options: Partial<Parameters<typeof createBearerCheck>[0]> = {}) =>
    outcome(check({ tenant: tenant(), ...options })(bearer(await issuer.mint({ audience, roles: [role], ...mint }))));

  it("names its caller by application and subject", async () => {
    const caller = async (mint: Partial<Mint>) =>
      check({ tenant: tenant() })(bearer(await issuer.mint({ audience, roles: [role], ...mint })));
    const kind = "tenant";
    expect(await caller({ azp: "app", subject: "user" })).toEqual({
      kind,
      application: "app",
      subject: "user",
      roles: ["call"],
    });
    expect(await caller({ claims: { azp: null, appid: "v1-app", oid: "object", sub: "pairwise" } })).toEqual({
      kind,
      application: "v1-app",
      subject: "object",
      roles: ["call"],
    });
    expect(await caller({ azp: "app", claims: { oid: null, sub: "pairwise" } })).toMatchObject({ subject: "pairwise" });
    expect(await caller({ azp: "app", claims: { oid: null, sub: null } })).toEqual({
      kind,
      application: "app",
      roles: ["call"],
    });
  });

  it("expires by the clock that is passed in", async () => {
    const later = instant(Date.now() + 3_601_000);
    expect(await asked({}, { now: () => later })).toBe("unauthenticated");
  });

  it("is refused where tenant tokens are not configured", async () => {
    const token = await issuer.mint({ audience, roles: [role] });
    expect(await outcome(check({ tokens })(bearer(token)))).toBe("unauthenticated");
  });

  it.each([
    ["answers with a failure", { kind: "refuse", status: 500 }],
    ["is throttling", { kind: "throttle", retryAfter: 1 }],
    ["drops the connection", { kind: "drop" }],
    ["answers nonsense", { kind: "nonsense" }],
  ] as const)("cannot be checked while the issuer %s: 503", async (_, fault) => {
    const checked = check({ tenant: tenant() });
    const token = await issuer.mint({ audience, roles: [role] });
    issuer.fail(fault);
    expect(await outcome(checked(bearer(token)))).toBe("unavailable");
    expect(await outcome(checked(bearer(token)))).toMatch(/^tenant:/);
  });

  it("cannot be checked while the issuer publishes no keys: 503 with the time to wait", async () => {
    const checked = check({ tenant: tenant(), fetch: async () => Response.json({ keys: "none" }) });
    const token = await issuer.mint({ audience, roles: [role] });
    await expect(checked(bearer(token))).rejects.toMatchObject({ kind: "unavailable", retryAfterSeconds: 5 });
  });

  it("costs the issuer one call for many checks", async () => {
    const checked = check({ tenant: tenant() });
    const token = await issuer.mint({ audience, roles: [role] });
    issuer.resetRequests();
    await Promise.all(Array.from({ length: 20 }, () => checked(bearer(token))));
    expect(issuer.requests()).toHaveLength(1);
  });
});

describe("a static token", () => {
  const token = `connector_abcd2345_${"a".repeat(43)}`;

  it("is checked as one, and refused with 401 where static tokens are not configured", async () => {
    expect(await outcome(check({ tenant: tenant(), tokens })(bearer(token)))).toBe(`api_token:${token}`);
    expect(await outcome(check({ tenant: tenant() })(bearer(token)))).toBe("unauthenticated");
  });
});

describe("an API that takes bearer tokens", () => {
  it("refuses every call where neither kind is configured: it never falls open", async () => {
    const checked = check({});
    const tokens = [await issuer.mint({ audience, roles: [role] }), `connector_abcd2345_${"a".repeat(43)}`, "anything"];
    for (const token of tokens) expect(await outcome(checked(bearer(token)))).toBe("unauthenticated");
    expect(await outcome(checked(new Headers()))).toBe("unauthenticated");
  });

  it.each([
    "",
    "Bearer",
    "Bearer ",
    "Basic abc",
    "bearer a b",
    "Bearer a, Bearer b",
    "Bearer no.jwt.atall",
    "Bearer .....",
  ])("refuses the header %j with 401", async authorization => {
    const checked = check({ tenant: tenant(), tokens });
    expect(await outcome(checked(new Headers({ authorization })))).toBe("unauthenticated");
  });

  it("takes the scheme in any case", async () => {
    const token = await issuer.mint({ audience, roles: [role] });
    expect(await outcome(check({ tenant: tenant() })(new Headers({ authorization: `bearer  ${token}` })))).toMatch(
      /^tenant:/,
    );
  });

  it("says nothing of the token in a refusal", async () => {
    const token = await issuer.mint({ audience, roles: [role], expiresInSeconds: -1 });
    const refused = await check({ tenant: tenant() })(bearer(token)).catch((error: Fault) => error);
    expect(refused).toMatchObject({ message: "The bearer token is not valid." });
  });
});
