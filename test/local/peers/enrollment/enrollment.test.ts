import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Enrollment, startEnrollment } from "../../../../local/peers/enrollment/enrollment.ts";

const CREDENTIAL = "credential";
let service: Enrollment;

beforeAll(async () => {
  service = await startEnrollment({ credential: CREDENTIAL });
});
afterAll(() => service.close());

const good = {
  grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
  subject_token: CREDENTIAL,
  subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
};
async function exchange(form: Record<string, string> = good) {
  const answer = await fetch(`${service.url}/v1/token`, { method: "POST", body: new URLSearchParams(form) });
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
}
const tokenFor = async (subject_token: string) => (await exchange({ ...good, subject_token })).body.access_token ?? "";
const control = (path: string, body: unknown = {}) =>
  fetch(`${service.url}/_control/${path}`, { method: "POST", body: JSON.stringify(body) });

describe("the enrollment service (docs/peers/enrollment.md)", () => {
  test("exchanges a credential for an access token", async () => {
    const { status, body } = await exchange();
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.any(String),
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
      token_type: "Bearer",
      expires_in: 900,
    });
    expect(service.isValid(body.access_token ?? "")).toBe(true);
    expect((await exchange()).body.access_token).not.toBe(body.access_token);
    expect(service.isValid("toString")).toBe(false);
  });

  test.each([
    ["another grant", { ...good, grant_type: "client_credentials" }, "invalid_request"],
    ["another type of credential", { ...good, subject_token_type: "urn:other" }, "invalid_request"],
    ["no credential", { ...good, subject_token: "" }, "invalid_request"],
    ["an unknown credential", { ...good, subject_token: "constructor" }, "invalid_grant"],
  ])("refuses %s", async (_, form, error) => {
    expect(await exchange(form)).toMatchObject({ status: 400, body: { error, error_description: expect.any(String) } });
  });

  test("refuses what is no form", async () => {
    const answer = await fetch(`${service.url}/v1/token`, { method: "POST", body: JSON.stringify(good) });
    expect(answer.status).toBe(400);
  });

  test("refuses tokens whose time is over, and those that were revoked", async () => {
    const token = await tokenFor(CREDENTIAL);
    await control("revoke-tokens");
    expect(service.isValid(token)).toBe(false);
    await control("settings", { expiresIn: 0 });
    expect(service.isValid(await tokenFor(CREDENTIAL))).toBe(false);
    service.settings({ expiresIn: 900 });
  });
});
