import { describe, expect, it } from "vitest";
import { nearestName } from "../../../lib/settings/nearest-name.ts";

const known = ["CORE_PATH", "EMAIL_SENDER_ADDRESS", "PIN_MAIL_DOMAINS", "RETRY_MIN_SECONDS", "RETRY_MAX_SECONDS"];

describe("nearestName", () => {
  it.each([
    ["EMAIL_SENDER_ADRESS", "EMAIL_SENDER_ADDRESS"],
    ["EMAIL_SENDRE_ADDRESS", "EMAIL_SENDER_ADDRESS"],
    ["RETRY_MIN_SECOND", "RETRY_MIN_SECONDS"],
    ["RETRY_MAXX_SECONDS", "RETRY_MAX_SECONDS"],
    ["pin-mail-domains", "PIN_MAIL_DOMAINS"],
  ])("returns for %s the name %s", (name, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });

  it.each(["PATH", "NODE_PATH", "EMAIL", "RETRY", "WEBSITE_SITE_NAME", ""])("returns no name for %j", name => {
    expect(nearestName(name, known)).toBeUndefined();
  });
});
