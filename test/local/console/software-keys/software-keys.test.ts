import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { LocalKind } from "../../../../lib/auth/otpkeys/kinds/contract.ts";
import { hotp, totp } from "../../../../lib/auth/otpkeys/kinds/oath.ts";
import { yubico } from "../../../../lib/auth/otpkeys/kinds/yubico.ts";
import { instant } from "../../../../lib/platform/time.ts";
import { oathCode, totpStep } from "../../../../local/console/software-keys/codes.ts";
import {
  createSoftwareKeys,
  newSoftwareKey,
  type SoftwareKey,
} from "../../../../local/console/software-keys/software-keys.ts";
import { hotpCode } from "../../../lib/auth/otpkeys/kinds/codes.ts";

const windows = { lookAhead: 15, resync: 100, steps: 1 };
const kinds: Record<SoftwareKey["kind"], LocalKind> = { hotp, totp, yubico };

const bytes = (hex: string | undefined) => (hex === undefined ? undefined : new Uint8Array(Buffer.from(hex, "hex")));

/** The key as an import of its secret makes it. */
function imported({ kind, secret, privateId, digits, period, algorithm }: SoftwareKey) {
  const prepared = kinds[kind].prepare({
    secret: bytes(secret),
    privateId: bytes(privateId),
    digits: kind === "yubico" ? undefined : digits,
    period,
    algorithm,
  });
  if (prepared.secret === undefined) throw new Error(JSON.stringify(prepared));
  return { secret: prepared.secret, parameters: prepared.parameters };
}

test.each([
  ["hotp", 6],
  ["hotp", 8],
  ["yubico", 6],
] as const)("the codes of a software key of kind %s with %d digits are genuine, one after another", (kind, digits) => {
  const keys = createSoftwareKeys();
  const key = keys.draft({ kind, digits });
  keys.keep(key);
  let stored = imported(key);
  // Past the point where a Yubico key's session counter is full.
  for (let use = 0; use < 258; use++) {
    const otp = keys.next(key.prefix)?.otp ?? "";
    expect(otp.startsWith(key.prefix)).toBe(true);
    const now = instant(Date.now());
    const decision = kinds[kind].decide(stored, otp.slice(key.prefix.length), { now, windows });
    if (decision.outcome !== "valid") throw new Error(`code ${use} is ${decision.outcome}`);
    stored = { ...stored, parameters: { ...stored.parameters, state: decision.nextState } };
  }
});

test.each([{}, { period: 60, algorithm: "SHA512" }] as const)(
  "a key of kind totp with %o shows one code for each step, and marks a code that it has shown before",
  parameters => {
    const keys = createSoftwareKeys();
    const key = keys.draft({ kind: "totp", digits: 6, ...parameters });
    keys.keep(key);
    const shown = keys.next(key.prefix);
    const decision = totp.decide(imported(key), shown?.otp.slice(key.prefix.length) ?? "", {
      now: instant(Date.now()),
      windows,
    });
    expect(decision.outcome).toBe("valid");
    const again = keys.next(key.prefix);
    expect(again?.given).toBe(again?.otp === shown?.otp);
    expect(totpStep(59_000)).toEqual({ step: 1, leftMs: 1000 });
  },
);

test("OATH codes are those of RFC 4226", () => {
  const secret = new Uint8Array(Buffer.from("12345678901234567890"));
  expect([0, 1, 9].map(factor => oathCode({ secret, digits: 6 }, factor))).toEqual(["755224", "287082", "520489"]);
  expect(oathCode({ secret, digits: 8 }, 7)).toBe(hotpCode(secret, 7, 8));
});

test("keys and what they have shown outlive the console; one that is forgotten shows nothing", () => {
  const directory = mkdtempSync(join(tmpdir(), "software-keys-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "console.json");
  const keys = createSoftwareKeys(path);
  const key = keys.draft({ kind: "hotp", digits: 6 });
  keys.keep(key);
  const first = keys.next(key.prefix);
  const later = createSoftwareKeys(path);
  expect(later.next(key.prefix)).toEqual({ otp: key.prefix + hotpCode(Buffer.from(key.secret, "hex"), 1) });
  expect(first?.otp).toBe(key.prefix + hotpCode(Buffer.from(key.secret, "hex"), 0));
  later.remove(key.prefix);
  expect(createSoftwareKeys(path).next(key.prefix)).toBeUndefined();
});

test("a prefix is 1 to 32 lower-case letters and digits", () => {
  for (const prefix of ["", "A", "a-b", "a".repeat(33)])
    expect(newSoftwareKey.safeParse({ kind: "hotp", prefix }).success, prefix).toBe(false);
  expect(newSoftwareKey.parse({ kind: "hotp", prefix: "a1" })).toEqual({ kind: "hotp", prefix: "a1", digits: 6 });
});
