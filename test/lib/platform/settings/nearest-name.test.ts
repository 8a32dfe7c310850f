import { describe, expect, it } from "vitest";
import { nearestNameIn } from "../../../../lib/platform/settings/nearest-name.ts";

const known = ["CORE_PATH", "EMAIL_SENDER_ADDRESS", "PIN_MAIL_DOMAINS", "RETRY_MIN_SECONDS", "RETRY_MAX_SECONDS"];
const nearestName = nearestNameIn(known);

describe("nearestNameIn", () => {
  it.each([
    ["EMAIL_SENDER_ADRESS", "EMAIL_SENDER_ADDRESS"],
    ["EMAIL_SENDRE_ADDRESS", "EMAIL_SENDER_ADDRESS"],
    ["RETRY_MIN_SECOND", "RETRY_MIN_SECONDS"],
    ["RETRY_MAXX_SECONDS", "RETRY_MAX_SECONDS"],
    ["pin-mail-domains", "PIN_MAIL_DOMAINS"],
    ["EMIAL_SENDER_ADDRSES", "EMAIL_SENDER_ADDRESS"],
    ["ETRY_MIN_SECONDSS", "RETRY_MIN_SECONDS"],
  ])("returns for %s the name %s", (name, nearest) => {
    expect(nearestName(name)).toBe(nearest);
  });

  it("returns the name for every pair of edits, and none for three edits", () => {
    const name = "CREDENTIALMAXDAYS";
    const nearest = nearestNameIn([name]);
    const edits: readonly ((text: string) => string)[] = [
      text => `0${text}`,
      text => text.slice(1),
      text => `0${text.slice(1)}`,
      text => `${text[1]}${text[0]}${text.slice(2)}`,
    ];
    const editedAt = (positions: readonly number[], edit: (text: string) => string, other = edit) =>
      positions.reduceRight(
        (text, at, index) => text.slice(0, at) + (index === 0 ? edit : other)(text.slice(at)),
        name,
      );
    for (const edit of edits) {
      for (const other of edits)
        for (const second of [5, 9, 15]) expect(nearest(editedAt([0, second], edit, other))).toBe(name);
      expect(nearest(editedAt([0, 5, 12], edit))).toBeUndefined();
    }
  });

  it.each(["PATH", "NODE_PATH", "EMAIL", "EMAIL_SENDER_ADDR", "RETRY", "WEBSITE_SITE_NAME", ""])(
    "returns no name for %j",
    name => {
      expect(nearestName(name)).toBeUndefined();
    },
  );
});
