import { expect, test } from "vitest";
import { mailPage } from "../../../../local/peers/mail/mail-page.ts";
import type { Mail } from "../../../../local/peers/mail/message.ts";

const mails: readonly Mail[] = Array.from({ length: 120 }, (_, at) => ({
  id: String(at),
  operationId: `operation-${at}`,
  from: "keys@example.com",
  to: [`User-${at}@example.com`],
  subject: `PIN ${at}`,
  text: "secret",
  html: "secret",
  at: "2026-01-01T00:00:00.000Z",
}));
const page = (query: string) => mailPage(mails, new URLSearchParams(query));

test("a page of mails has fifty without their texts, the newest first, and says how many there are", () => {
  const { total, matching, mails: listed } = page("");
  expect([total, matching, listed.length, listed[0]?.id, listed.at(-1)?.id]).toEqual([120, 120, 50, "119", "70"]);
  expect(JSON.stringify(listed)).not.toContain("secret");
  expect(page("top=2&skip=118").mails.map(({ id }) => id)).toEqual(["1", "0"]);
});

test("mails are found by a part of their subject or address in any letter case, and by their sends", () => {
  expect(page("search=user-11@").mails.map(({ id }) => id)).toEqual(["11"]);
  expect(page("search=pin 12")).toMatchObject({ total: 120, matching: 1 });
  expect(page("operation=operation-3&operation=operation-5").mails.map(({ id }) => id)).toEqual(["5", "3"]);
});
