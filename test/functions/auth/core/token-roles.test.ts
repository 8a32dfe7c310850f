import { describe, expect, it, onTestFinished } from "vitest";
import { core } from "../../../../functions/auth/routes.ts";
import { apiTokensOf } from "../../../../functions/identify-caller.ts";
import { noContent } from "../../../../lib/platform/http/call.ts";
import { endpoint, type RoleEndpoint } from "../../../../lib/platform/http/endpoint.ts";
import { days, plus } from "../../../../lib/platform/time.ts";
import { startTokenIssuer } from "../../../../local/peers/issuer/token-issuer.ts";
import { hotpKey, newPrefix } from "../../../support/auth/software-key.ts";
import { newName, newPassword, testAuth } from "../../../support/auth/test-auth.ts";

const tokens: Record<string, string> = {};

const auth = await testAuth();
const expiresAt = plus(auth.now(), days(10));
const apiTokens = apiTokensOf(auth.deployment, "core");
const limits = {
  read: { role: "read" },
  support: { role: "support" },
  import: { role: "import" },
  admin: { role: "admin" },
  expiring: { expiresAt },
  lasting: { expiresAt: plus(auth.now(), days(300)) },
} as const;
for (const [name, each] of Object.entries(limits)) tokens[name] = (await apiTokens.create(name, each)).token;

const as = (name: string) => ({ authorization: `Bearer ${tokens[name]}` });
const forbidden = (has: string, needs: string) => ({
  status: 403,
  body: { error: `The API token has the role ${has}; this call needs the role ${needs}.` },
});

describe("the role of a static API token", () => {
  it("is stated by every endpoint: these need less than `admin`, and `read` is for reading only", () => {
    const least = (role: string) => Object.keys(core.endpoints).filter(name => core.endpoints[name]?.role === role);
    expect(least("read")).toEqual([
      "coreListUsers",
      "coreGetUser",
      "coreGetLock",
      "coreListUserOtpkeys",
      "coreGetOtpkey",
      "coreGetUserOtpkey",
      "coreListOtpkeys",
      "coreListUserAttributes",
      "coreGetUserAttribute",
      "coreListOtpkeyAttributes",
      "coreGetOtpkeyAttribute",
      "coreListUserOtpkeyAttributes",
      "coreGetUserOtpkeyAttribute",
      "coreGetCaller",
    ]);
    expect(least("support")).toEqual([
      "coreEndSessions",
      "coreDisableUser",
      "coreEnableUser",
      "coreUnlockUser",
      "coreEnableOtpkey",
      "coreDisableOtpkey",
      "coreIssueTemporaryCode",
      "coreRevokeTemporaryCode",
    ]);
    expect(least("import")).toEqual(["coreImportOtpkey", "coreImportOtpkeys"]);
    expect(least("admin")).toHaveLength(Object.keys(core.endpoints).length - 24);
    const unstated = endpoint({
      routes: ["GET /sample"],
      access: "caller",
      summary: "Sample",
      answers: {},
      handle: () => noContent,
    });
    // @ts-expect-error The endpoint states no role.
    const stated: RoleEndpoint<object> = unstated;
    expect(stated.role).toBeUndefined();
    const reading = Object.values(core.endpoints).filter(({ role }) => role === "read");
    for (const { routes, summary } of reading) {
      expect(
        routes.every(route => route.startsWith("GET ")),
        summary,
      ).toBe(true);
    }
  });

  it("`read` lists and views, and changes nothing", async () => {
    const { prefix, fields } = hotpKey();
    await auth.post("/core/otpkeys", fields);
    for (const path of [
      "/core/users",
      "/core/otpkeys",
      `/core/otpkeys/${prefix}`,
      `/core/otpkeys/${prefix}/attributes`,
    ]) {
      expect((await auth.get(path, {}, as("read"))).status, path).toBe(200);
    }
    const user = { username: newName(), password: newPassword() };
    expect(await auth.post("/core/users", user, as("read"))).toMatchObject(forbidden("read", "admin"));
    expect(await auth.post("/core/otpkeys", hotpKey().fields, as("read"))).toMatchObject(forbidden("read", "import"));
    expect(await auth.post(`/core/otpkeys/${prefix}/disable`, {}, as("read"))).toMatchObject(
      forbidden("read", "support"),
    );
    expect((await auth.get(`/core/users/${user.username}`)).status).toBe(404);
    expect(auth.events("caller_refused").at(-1)).toMatchObject({
      status: 403,
      reason: "no_role",
      callerKind: "api_token",
    });
  });

  it.each(["read", "import"])(
    "`%s` does not learn from a refused sign-in whether the password was right",
    async role => {
      const [user, key] = await auth.makeOwner(hotpKey());
      const { name: username, password } = user;
      const refusals = async (name: string) => {
        const views = [`/core/users/${user.id}`, `/core/users/${username}/lock`];
        const bodies = await Promise.all(views.map(async path => (await auth.get(path, {}, as(name))).body));
        return bodies.map(body => (body as { last_refusal: object }).last_refusal);
      };
      for (const [fields, reason] of [
        [{ password: "wrong" }, "wrong_password"],
        [{ password }, "no_otp"],
        [{ password, otp: `${key.prefix}000000` }, "wrong_otp"],
        [{ password, otp: key.otp(50) }, "wrong_otp"],
      ] as const) {
        await auth.post("/client/authenticate", { username, ...fields });
        const hidden = { at: expect.any(String), reason: "wrong_credentials" };
        expect(await refusals(role), reason).toEqual([hidden, hidden]);
        expect(await refusals("support")).toMatchObject([{ reason }, { reason }]);
      }
      for (const path of [`/core/otpkeys/${key.prefix}`, `/core/users/${user.id}/otpkeys/${key.prefix}`]) {
        expect((await auth.get(path, {}, as(role))).body).not.toHaveProperty("failures");
        expect((await auth.get(path, {}, as("support"))).body).toMatchObject({ failures: expect.any(Number) });
      }
      const reset = (fields: Record<string, string>) => auth.post(`/core/users/${user.id}/reset`, fields);
      await reset({ password, must_change: "true" });
      await auth.post("/client/authenticate", { username, password, otp: key.otp(51) });
      expect((await refusals(role))[0]).toMatchObject({ reason: "wrong_credentials" });
      expect((await refusals("support"))[0]).toMatchObject({ reason: "must_change" });
      await reset({ issue_code: "true" });
      await auth.post("/client/password", { username, code: "wrong", newpass: "any other password" });
      expect((await refusals(role))[0]).toMatchObject({ reason: "wrong_credentials" });
      expect((await refusals("support"))[0]).toMatchObject({ reason: "wrong_code" });
      await reset({ password });
      await auth.post(`/core/users/${user.id}/disable`);
      await auth.post("/client/authenticate", { username, password });
      expect(await refusals(role)).toMatchObject([{ reason: "disabled" }, { reason: "disabled" }]);
    },
  );

  it("`support` issues no temporary code where it could be the only factor of a user", async () => {
    const lax = auth.anotherInstance({ settings: { AUTH_ALLOW_EMPTY_PASSWORD: "true" } });
    const { prefix, fields } = hotpKey();
    await auth.post("/core/otpkeys", fields);
    const issue = (role: string) => {
      const code = { uses: "2", valid_until: plus(auth.now(), days(1)) };
      return lax.post(`/core/otpkeys/${prefix}/temporary-code`, code, as(role));
    };
    expect(await issue("support")).toMatchObject({
      status: 403,
      body: {
        error:
          "To issue a temporary code where users may sign in without a password, the API token needs the role admin.",
      },
    });
    expect((await auth.get(`/core/otpkeys/${prefix}`)).body).toMatchObject({ enabled: true });
    expect((await issue("admin")).status).toBe(201);
  });

  it("`import` imports and reads, and replaces no secret", async () => {
    const { prefix, fields } = hotpKey();
    expect((await auth.post("/core/otpkeys", fields, as("import"))).status).toBe(201);
    expect((await auth.get(`/core/otpkeys/${prefix}`, {}, as("import"))).status).toBe(200);
    const other = { ...hotpKey({ prefix }).fields, replace: "true" };
    expect(await auth.post("/core/otpkeys", other, as("import"))).toMatchObject({
      status: 403,
      body: { error: "To use `replace`, the API token needs the role admin." },
    });
    expect((await auth.post("/core/otpkeys", other, as("admin"))).status).toBe(200);
    expect(await auth.post(`/core/otpkeys/${newPrefix()}/delete`, {}, as("import"))).toMatchObject(
      forbidden("import", "admin"),
    );
  });
});

describe("the role `import`", () => {
  const validity = { valid_from: "2026-01-01T00:00:00.000Z", valid_until: "2099-01-01T00:00:00.000Z" };
  const importing = (fields: Readonly<Record<string, string>>) => auth.post("/core/otpkeys", fields, as("import"));

  const step = Math.floor(Date.parse(auth.now()) / 30_000);
  const made = (kind: string, secret: object) => ({ prefix: newPrefix(), kind, ...secret });
  it.each<[string, object, object, ...Record<string, string>[]]>([
    ["hotp", hotpKey().fields, { counter: "15" }, { counter: "16" }, { digits: "8" }],
    [
      "totp",
      made("totp", { secret: "cd".repeat(20) }),
      { counter: String(step + 11) },
      { counter: String(step + 12) },
      { digits: "8" },
      { period: "60" },
      { algorithm: "SHA256" },
    ],
    [
      "yubico",
      made("yubico", { secret: "ef".repeat(16), private_id: "01".repeat(6) }),
      { counter: "15" },
      { counter: "16" },
    ],
    ["remote", made("remote", {}), {}],
  ])(
    "changes an existing key of kind %s by no more than a sign-in does, and ends none",
    async (_, given, harmless, ...others) => {
      const fields = { ...given } as Record<string, string>;
      const { prefix = "" } = fields;
      const refused = [...others, { valid_until: "2026-01-02T00:00:00Z" }, { valid_from: "2098-01-01T00:00:00Z" }];
      const whatOf = (name: string) =>
        name.startsWith("valid_")
          ? "change the validity"
          : name === "counter"
            ? "raise the counter"
            : `change the ${name}`;
      expect((await importing({ ...fields, ...validity })).status).toBe(201);
      for (const change of refused) {
        const [name = ""] = Object.keys(change);
        const error = `To ${whatOf(name)} of an existing otpkey${name === "counter" ? " so far" : ""}, the API token needs the role admin.`;
        expect(await importing({ ...fields, ...change })).toMatchObject({ status: 403, body: { error } });
      }
      const bare = { prefix, valid_until: "2026-01-02T00:00:00Z" };
      expect((await importing(bare)).status).toBe(403);
      for (const same of [{}, validity, harmless]) expect((await importing({ ...fields, ...same })).status).toBe(200);
      expect((await auth.get(`/core/otpkeys/${prefix}`)).body).toMatchObject(validity);
      for (const change of others)
        expect((await auth.post("/core/otpkeys", { ...fields, ...change }, as("admin"))).status).toBe(200);
    },
  );

  it("adds secret and validity to a key that has no secret", async () => {
    const { prefix, fields } = hotpKey();
    await auth.post("/core/otpkeys", { prefix });
    expect(await importing({ ...fields, ...validity })).toMatchObject({ status: 201, body: validity });
  });

  it("assigns while importing, also again, and assigns no key that another user has", async () => {
    const [owner, other] = [await auth.makeUser(), await auth.makeUser()];
    const key = hotpKey();
    const { prefix, fields } = key;
    expect((await importing({ ...fields, username: owner.name })).status).toBe(201);
    expect((await importing({ ...fields, username: owner.name })).status).toBe(200);
    for (const taken of [{ prefix }, fields, { ...fields, counter: "10" }]) {
      expect(await importing({ ...taken, username: other.name })).toMatchObject({
        status: 403,
        body: {
          error: "Another user has the otpkey. To assign it to several users, the API token needs the role admin.",
        },
      });
    }
    expect((await auth.get(`/core/users/${other.id}/otpkeys`)).body).toEqual([]);
    // A refused import has not raised the counter either.
    expect(await auth.isValidOtp(owner, key.otp(0))).toBe(true);
    expect((await auth.post("/core/otpkeys", { prefix, username: other.name }, as("admin"))).status).toBe(200);
    expect((await importing({ ...fields, username: owner.name })).status).toBe(200);
  });
});

describe("creating a static API token", () => {
  it("and revoking it are audit events that name the caller of the tenant", async () => {
    const issuer = await startTokenIssuer();
    onTestFinished(() => issuer.close());
    const own = auth.anotherInstance({
      settings: {
        CALLER_AUDIENCES: "api://core",
        CALLER_ISSUERS: issuer.issuer,
        CALLER_JWKS_ENDPOINT: issuer.jwksUri,
      },
    });
    const tenant = await issuer.mint({ audience: "api://core", roles: ["Core.Admin"], azp: "app", subject: "ada" });
    const headers = { authorization: `Bearer ${tenant}` };
    const fields = { name: " ITSM\n", role: "import", expires_at: expiresAt };
    const created = await own.post("/core/api-tokens", fields, headers);
    expect(created).toMatchObject({ status: 201, body: { name: "ITSM", role: "import" } });
    const { id } = created.body as { id: string };
    const caller = { api: "core", id, application: "app", subject: "ada", callerKind: "tenant" };
    expect(own.events("api_token_created")).toMatchObject([{ ...caller, role: "import", expiresAt }]);
    expect((await own.call("DELETE", `/core/api-tokens/${id}`, { headers })).status).toBe(204);
    expect(own.events("api_token_revoked")).toMatchObject([caller]);
  });

  it.each([
    [{ role: "" }, "role must be one of read, support, import, admin"],
    [{ role: "root" }, "role must be one of read, support, import, admin"],
    [{ expires_at: "" }, "expires_at must be a time in ISO 8601 with its zone, such as 2031-01-31T12:00:00Z"],
    [{ expires_at: "9999-12-31T23:59:59-01:00" }, "expires_at must be in a year up to 9999 in UTC"],
  ])("refuses %j, instead of a token that may do everything or never expires", async (fields, error) => {
    const { status, body } = await auth.post("/core/api-tokens", { name: "x", ...fields });
    expect({ status, body }).toEqual({ status: 400, body: { error } });
  });
});

describe("the expiry of a static API token", () => {
  it("is listed, logged two weeks before and once a day, and then the token is refused", async () => {
    const own = auth.anotherInstance();
    const list = async () =>
      (await own.get("/core/api-tokens")).body as readonly { name: string; expires_at?: string }[];
    expect((await list()).find(({ name }) => name === "expiring")?.expires_at).toBe(expiresAt);
    const warnings = () => own.events("api_token_expires");
    for (let n = 0; n < 3; n++) expect((await own.get("/core/users", {}, as("expiring"))).status).toBe(200);
    const [, id = ""] = (tokens.expiring ?? "").split("_");
    expect(warnings()).toEqual([expect.objectContaining({ api: "core", id })]);
    own.advance(days(2));
    await own.get("/core/users", {}, as("lasting"));
    expect(warnings()).toHaveLength(2);
    own.advance(days(8));
    expect((await own.get("/core/users", {}, as("expiring"))).status).toBe(401);
    expect(own.events("caller_refused").at(-1)).toMatchObject({ reason: "expired" });
    expect((await own.get("/core/users", {}, as("lasting"))).status).toBe(200);
    expect(warnings()).toHaveLength(2);
  });
});
