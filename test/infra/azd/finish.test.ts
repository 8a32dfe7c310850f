import { describe, expect, it } from "vitest";

const { awaitVerification } = (await import("../../../infra/scripts/finish/mail.mjs" as string)) as {
  awaitVerification(context: object): Promise<string | undefined>;
};

const environment = {
  AZURE_SUBSCRIPTION_ID: "s",
  AZURE_RESOURCE_GROUP: "rg-sample",
  MAIL_SERVICE_NAME: "mail",
  MAIL_DOMAIN_NAME: "keys.example.com",
};
const tell = () => {};

describe("waiting for the DNS records", () => {
  it("has Azure look again until it finds them, that of the domain first, and passes over a read that fails", async () => {
    const states: Record<string, string> = {
      Domain: "NotStarted",
      SPF: "NotStarted",
      DKIM: "NotStarted",
      DKIM2: "NotStarted",
    };
    const asked: string[] = [];
    let reads = 0;
    const az = (...words: readonly string[]) => {
      if (words[2] === "post") {
        const kind = String(JSON.parse(words.at(-1) ?? "").verificationType);
        states[kind] = asked.includes(kind) ? "Verified" : "VerificationFailed";
        asked.push(kind);
        return null;
      }
      reads++;
      const verificationStates = Object.fromEntries(Object.entries(states).map(([kind, status]) => [kind, { status }]));
      return reads === 2 ? undefined : { properties: { verificationStates } };
    };
    expect(await awaitVerification({ az, environment, tell, waitMs: 60_000, pauseMs: 1 })).toBeUndefined();
    expect(asked).toEqual(["Domain", "Domain", "SPF", "DKIM", "DKIM2", "SPF", "DKIM", "DKIM2"]);
  });

  it("ends after the time that was given, and names what is missing", async () => {
    const az = (...words: readonly string[]) => (words[2] === "post" ? null : { properties: {} });
    expect(await awaitVerification({ az, environment, tell, waitMs: 5, pauseMs: 1 })).toContain("DKIM2");
  });
});
