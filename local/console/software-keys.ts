import { randomBytes } from "node:crypto";
import * as z from "zod";
import { openState } from "../peers/state-file.ts";
import { oathCode, toModhex, totpStep, yubicoCode } from "./software-key-codes.ts";

/** What the page may choose; the rest is made up. */
export const newSoftwareKey = z.strictObject({
  kind: z.enum(["hotp", "totp", "yubico"]),
  prefix: z
    .string()
    .regex(/^[a-z0-9]{1,32}$/, "must be 1 to 32 lower-case letters and digits")
    .optional(),
  digits: z.union([z.literal(6), z.literal(8)]).default(6),
});

/** A key whose secret lies here instead of in hardware, so that the page can sign in with it. */
export interface SoftwareKey {
  readonly prefix: string;
  readonly kind: z.output<typeof newSoftwareKey>["kind"];
  /** Hexadecimal, as `POST /core/otpkeys` takes it (decision A10). */
  readonly secret: string;
  readonly privateId?: string;
  readonly digits: 6 | 8;
  /** Codes made so far; of `totp` the step of the last one. */
  uses: number;
}

export interface Otp {
  /** Prefix and code. */
  readonly otp: string;
  /** Of `totp`: milliseconds until there is another code. */
  readonly leftMs?: number;
  /** Of `totp`: whether the code was given before, so that it passes no more. */
  readonly given?: boolean;
}

export interface SoftwareKeys {
  /** Makes up a key that is not kept yet. */
  draft(wanted: z.output<typeof newSoftwareKey>): SoftwareKey;
  /** Takes the place of one with the same prefix. */
  keep(key: SoftwareKey): void;
  all(): readonly SoftwareKey[];
  /** What the key shows next; undefined for an unknown prefix. */
  next(prefix: string): Otp | undefined;
  forget(prefix: string): void;
}

/** @param statePath where the keys are kept; in memory where missing */
export function createSoftwareKeys(statePath?: string): SoftwareKeys {
  const state = openState<{ keys: SoftwareKey[] }>(statePath, { keys: [] });
  const forget = (prefix: string) => {
    state.value.keys = state.value.keys.filter(key => key.prefix !== prefix);
    state.save();
  };
  return {
    draft: ({ kind, prefix = toModhex(randomBytes(6)), digits }) => ({
      prefix,
      kind,
      digits,
      uses: 0,
      secret: randomBytes(kind === "yubico" ? 16 : 20).toString("hex"),
      ...(kind === "yubico" ? { privateId: randomBytes(6).toString("hex") } : {}),
    }),
    keep: key => {
      forget(key.prefix);
      state.value.keys.push(key);
      state.save();
    },
    all: () => state.value.keys,
    next: prefix => {
      const key = state.value.keys.find(known => known.prefix === prefix);
      if (key === undefined) return undefined;
      const shown = show(key);
      state.save();
      return shown;
    },
    forget,
  };
}

function show(key: SoftwareKey): Otp {
  const secret = Buffer.from(key.secret, "hex");
  if (key.kind === "totp") {
    const { step, leftMs } = totpStep(Date.now());
    const given = key.uses === step;
    key.uses = step;
    return { otp: key.prefix + oathCode({ secret, digits: key.digits }, step), leftMs, given };
  }
  const use = key.uses++;
  if (key.kind === "hotp") return { otp: key.prefix + oathCode({ secret, digits: key.digits }, use) };
  return { otp: key.prefix + yubicoCode(secret, Buffer.from(key.privateId ?? "", "hex"), use) };
}
