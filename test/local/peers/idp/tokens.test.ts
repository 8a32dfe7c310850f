import { generateKeyPairSync, randomUUID } from "node:crypto";
import { exportJWK, SignJWT } from "jose";
import { beforeAll, expect, test } from "vitest";
import { entraTokens } from "../../../../local/peers/entra/tokens.ts";
import { createIdpTokens, type IdpClient } from "../../../../local/peers/idp/tokens.ts";
import { pingTokens } from "../../../../local/peers/pingone/tokens.ts";
import { openState } from "../../../../local/peers/state-file.ts";

const url = new URL("https://idp.example/token");
const now = () => Math.floor(Date.now() / 1000);
const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
let client: IdpClient;

beforeAll(async () => {
  client = { clientId: "connector", clientSecret: "secret", clientKey: await exportJWK(publicKey) };
});

async function asserted(change: Record<string, unknown> = {}, alg = "RS256"): Promise<Record<string, string>> {
  const claims = { iss: "connector", sub: "connector", aud: url.href, jti: randomUUID(), exp: now() + 300, ...change };
  const client_assertion = await new SignJWT(claims).setProtectedHeader({ alg, typ: "JWT" }).sign(privateKey);
  return { client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", client_assertion };
}

const secret = { client_secret: "secret" };

test.each([
  { name: "Entra", rules: entraTokens, algorithms: { good: "PS256", bad: "RS512" }, claim: "jti" },
  { name: "PingOne", rules: pingTokens, algorithms: { good: "ES256", bad: "PS256" }, claim: "exp" },
])("the token endpoint of $name grants tokens for its proofs and no other", async ({ rules, algorithms, claim }) => {
  let expiresIn = 3600;
  const open = (of = client) => createIdpTokens(of, openState(undefined, { tokens: {} }), rules, () => expiresIn);
  const tokens = open();
  const ask = async (form: Record<string, string>, of = tokens) => {
    const sent = {
      grant_type: "client_credentials",
      client_id: "connector",
      scope: "https://a.example/.default",
      ...form,
    };
    const { status, body } = await of.grant({ url, body: Buffer.from(String(new URLSearchParams(sent))) });
    return { status, ...(body as { error?: string; access_token?: string }) };
  };
  const proofs = [secret, await asserted(), ...(algorithms.good === "PS256" ? [await asserted({}, "PS256")] : [])];
  const granted: string[] = [];
  for (const proof of proofs) {
    const { access_token = "", ...rest } = await ask(proof);
    expect(rest).toMatchObject({ status: 200, token_type: "Bearer", expires_in: 3600 });
    granted.push(access_token);
  }
  const isValid = (token: string) => tokens.accepts({ headers: { authorization: `Bearer ${token}` } } as never);
  expect(granted.map(isValid)).toEqual(proofs.map(() => true));
  tokens.revokeAll();
  expect(granted.map(isValid)).toEqual(proofs.map(() => false));
  expiresIn = 0;
  expect(isValid((await ask(secret)).access_token ?? "")).toBe(false);

  const good = await asserted();
  const wrong = [
    { client_secret: "wrong" },
    {},
    { ...secret, client_id: "another" },
    { ...good, client_assertion: `${good.client_assertion?.slice(0, -8)}AAAAAAAA` },
    { ...good, client_assertion_type: "another" },
    await asserted({ aud: "https://elsewhere.example" }),
    await asserted({ iss: "another" }),
    await asserted({ sub: "another" }),
    await asserted({ exp: now() - 1 }),
    await asserted({ [claim]: undefined }),
    await asserted({}, algorithms.bad),
  ] as const;
  for (const proof of wrong)
    expect(await ask(proof as Record<string, string>), JSON.stringify(proof)).toMatchObject({
      status: 401,
      error: "invalid_client",
    });
  const { clientKey: _, ...withoutKey } = client;
  expect((await ask(good, open(withoutKey))).status).toBe(401);
  expect(await ask({ ...secret, grant_type: "password" })).toMatchObject({ error: "unsupported_grant_type" });
});

test("Entra grants no token for a scope that is not of an application", async () => {
  const tokens = createIdpTokens(client, openState(undefined, { tokens: {} }), entraTokens, () => 3600);
  const form = { grant_type: "client_credentials", client_id: "connector", ...secret, scope: "User.Read" };
  const answer = await tokens.grant({ url, body: Buffer.from(String(new URLSearchParams(form))) });
  expect(answer).toMatchObject({ status: 400, body: { error: "invalid_scope", error_codes: [1002012] } });
});
