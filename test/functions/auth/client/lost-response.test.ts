import { afterAll, describe, expect, it } from "vitest";
import { hours, plus } from "../../../../lib/platform/time.ts";
import { hotpKey, type SoftwareKey, wrongOtp, yubicoKey } from "../../../support/auth/software-key.ts";
import { repeating } from "../../../support/auth/store-steps.ts";
import { testAuth, validationKey } from "../../../support/auth/test-auth.ts";
import { simulatedServer } from "../../../support/auth/validation-server.ts";

const server = await simulatedServer(validationKey);
afterAll(() => server.close());
const auth = await testAuth({ settings: { OTP_VALIDATION_URLS: server.url, OTP_VALIDATION_CLIENT_ID: "42" } });

describe("an OTP check whose write is repeated because its response was lost", () => {
  /** Sends one sign-in for each write, whose response is lost, each with the credentials of another user. */
  async function withLostResponses(
    make: () => Promise<Record<string, string>>,
    check: (body: unknown, fields: Record<string, string>) => Promise<unknown>,
  ) {
    for (let write = 0, isRepeated = true; isRepeated; write++) {
      const fields = await make();
      const repeated = repeating(auth.deployment.tables, write);
      const on = auth.anotherInstance({ ports: () => auth.storeOn(repeated.tables) });
      await check((await on.post("/client/authenticate", fields)).body, fields);
      isRepeated = repeated.isRepeated();
    }
  }

  const owning = async (made: SoftwareKey) => {
    const [user, key] = await auth.makeOwner(made);
    return { ...user.credentials, otp: key.otp(1) };
  };
  it.each<[string, () => Promise<Record<string, string>>]>([
    ["an OTP of kind hotp", () => owning(hotpKey())],
    ["an OTP of kind yubico", () => owning(yubicoKey())],
    [
      "an OTP of kind remote",
      async () => {
        const [user, key] = [await auth.makeUser(), yubicoKey()];
        server.add(key);
        await auth.post(`/core/users/${user.id}/otpkeys`, { otpkey: key.prefix });
        return { ...user.credentials, otp: key.otp(1) };
      },
    ],
    [
      "a temporary code",
      async () => {
        const [user, key] = await auth.makeOwner(hotpKey());
        const sent = { valid_until: plus(auth.now(), hours(1)) };
        const { body } = await auth.post(`/core/otpkeys/${key.prefix}/temporary-code`, sent);
        return { ...user.credentials, otp: (body as { code: string }).code };
      },
    ],
  ])("accepts %s, and not again", async (_, make) => {
    await withLostResponses(make, async (body, fields) => {
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
