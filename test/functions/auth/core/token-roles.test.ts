import { beforeAll, describe, expect, it } from "vitest";
import { core } from "../../../../functions/auth/routes.ts";
import { tokenHashesOf } from "../../../../functions/deployment.ts";
import { createToken } from "../../../../lib/http/authenticate/api-tokens.ts";
import { days, plus } from "../../../../lib/time.ts";
import { newName, newPassword, type TestAuth, testAuth } from "../../../support/auth.ts";
import { hotpKey, newPrefix } from "../../../support/software-key.ts";

let auth: TestAuth;
let expiresAt: string;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  auth = await testAuth();
  expiresAt = plus(auth.now(), days(10));
  const { deployment } = auth;
  const own = { hashes: tokenHashesOf(deployment, "core"), now: auth.now, random: deployment.random };
  const limits = {
    read: { role: "read" },
    import: { role: "import" },
    admin: { role: "admin" },
    expiring: { expiresAt },
    lasting: { expiresAt: plus(auth.now(), days(300)) },
  } as const;
  for (const [name, each] of Object.entries(limits)) tokens[name] = (await createToken(name, "core", own, each)).token;
});

const as = (name: string) => ({ authorization: `Bearer ${tokens[name]}` });
const forbidden = (has: string, needs: string) => ({
  status: 403,
  body: { error: `The API token has the role ${has}; this call needs the role ${needs}.` },
});

describe("the role of a static API token", () => {
  it("is `read` for reading only, and `admin` where an endpoint states none", () => {
    const reading = Object.values(core.endpoints).filter(({ role }) => role === "read");
    expect(reading.length).toBeGreaterThan(10);
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
      forbidden("read", "admin"),
    );
    expect((await auth.get(`/core/users/${user.username}`)).status).toBe(404);
    expect(auth.events("caller_refused").at(-1)).toMatchObject({
      status: 403,
      reason: "no_role",
      callerKind: "api_token",
    });
  });

  it("`import` imports and reads, and replaces no secret", async () => {
    const { prefix, fields } = hotpKey();
    expect((await auth.post("/core/otpkeys", fields, as("import"))).status).toBe(201);
    expect((await auth.get(`/core/otpkeys/${prefix}`, {}, as("import"))).status).toBe(200);
    const other = { ...hotpKey({ prefix }).fields, replace: "true" };
    expect(await auth.post("/core/otpkeys", other, as("import"))).toMatchObject({
      status: 403,
      body: { error: "The API token has the role import; `replace` needs the role admin." },
    });
    expect((await auth.post("/core/otpkeys", other, as("admin"))).status).toBe(200);
    expect(await auth.post(`/core/otpkeys/${newPrefix()}/delete`, {}, as("import"))).toMatchObject(
      forbidden("import", "admin"),
    );
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
