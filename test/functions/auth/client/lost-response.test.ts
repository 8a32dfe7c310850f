import { afterAll, describe, expect, it } from "vitest";
import { hours, plus } from "../../../../lib/platform/time.ts";
import { hotpKey, wrongOtp, yubicoKey } from "../../../support/auth/software-key.ts";
import { repeating } from "../../../support/auth/store-steps.ts";
import { testAuth, validationKey } from "../../../support/auth/test-auth.ts";
import { simulatedServer } from "../../../support/auth/validation-server.ts";

const server = await simulatedServer(validationKey);
afterAll(() => server.close());
const auth = await testAuth({ settings: { OTP_VALIDATION_URLS: server.url, OTP_VALIDATION_CLIENT_ID: "42" } });

describe("an OTP check whose write is repeated because its response was lost", () => {
  const acts = { hotp: hotpKey, yubico: yubicoKey };

  /** Sends one sign-in for each write, whose response is lost. */
  async function withLostResponses(make: () => Promise<Record<string, string>>, check: (body: unknown) => unknown) {
    for (let write = 0, isRepeated = true; isRepeated; write++) {
      const fields = await make();
      const repeated = repeating(auth.deployment.tables, write);
      const on = auth.anotherInstance({ ports: () => auth.storeOn(repeated.tables) });
      await check((await on.post("/client/authenticate", fields)).body);
      isRepeated = repeated.isRepeated();
    }
  }

  it.each(Object.entries(acts))("accepts the OTP of kind %s, and not again", async (_, make) => {
    let fields: Record<string, string> = {};
    const next = async () => {
      const [user, key] = await auth.makeOwner(make());
      fields = { ...user.credentials, otp: key.otp(1) };
      return fields;
    };
    await withLostResponses(next, async body => {
      expect(body).toBe(true);
      expect((await auth.post("/client/authenticate", fields)).body).toBe(false);
    });
  });

  it("accepts the OTP of kind remote, and not again", async () => {
    let fields: Record<string, string> = {};
    const next = async () => {
      const [user, key] = [await auth.makeUser(), yubicoKey()];
      server.add(key);
      await auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: key.prefix });
      fields = { ...user.credentials, otp: key.otp(1) };
      return fields;
    };
    await withLostResponses(next, async body => {
      expect(body).toBe(true);
      expect((await auth.post("/client/authenticate", fields)).body).toBe(false);
    });
  });

  it("accepts a temporary code, and not again", async () => {
    let fields: Record<string, string> = {};
    const next = async () => {
      const [user, key] = await auth.makeOwner(hotpKey());
      const sent = { valid_until: plus(auth.now(), hours(1)) };
      const { body } = await auth.post(`/core/otpkeys/${key.prefix}/temporary-code`, sent);
      fields = { ...user.credentials, otp: (body as { code: string }).code };
      return fields;
    };
    await withLostResponses(next, async body => {
      expect(body).toBe(true);
      expect((await auth.post("/client/authenticate", fields)).body).toBe(false);
    });
  });

  it("counts a wrong OTP once", async () => {
    let prefix = "";
    const next = async () => {
      const [user, key] = await auth.makeOwner(hotpKey());
      ({ prefix } = key);
      return { ...user.credentials, otp: wrongOtp(key) };
    };
    await withLostResponses(next, async body => {
      expect(body).toBe(false);
      expect((await auth.get(`/core/otpkeys/${prefix}`)).body).toMatchObject({ failures: 1 });
    });
  });
});
