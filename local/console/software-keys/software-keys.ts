import { randomBytes } from "node:crypto";
import * as z from "zod";
import { type TotpAlgorithm, totpAlgorithms } from "../../../lib/auth/otpkeys/kinds/contract.ts";
import { omitUndefined } from "../../../lib/platform/collections.ts";
import { openState } from "../../peers/state-file.ts";
import { oathCode, toModhex, totpStep, yubicoCode } from "./codes.ts";

/** What the page can choose; the rest is random. */
export const newSoftwareKey = z.strictObject({
  kind: z.enum(["hotp", "totp", "yubico"]),
  prefix: z
    .string()
    .regex(/^[a-z0-9]{1,32}$/, "must be 1 to 32 lower-case letters and digits")
    .optional(),
  digits: z.union([z.literal(6), z.literal(8)]).default(6),
  /** Seconds of a step; of `totp` only, as is the algorithm. */
  period: z.union([z.literal(30), z.literal(60)]).optional(),
  algorithm: z.enum(totpAlgorithms).optional(),
});

/** A key whose secret is stored here instead of in hardware, so that the page can sign in with it. */
export interface SoftwareKey {
  readonly prefix: string;
  readonly kind: z.output<typeof newSoftwareKey>["kind"];
  /** Hexadecimal, as `POST /core/otpkeys` takes it (decision A10). */
  readonly secret: string;
  readonly privateId?: string;
  readonly digits: 6 | 8;
  readonly period?: 30 | 60;
  readonly algorithm?: TotpAlgorithm;
  /** Number of codes shown; of `totp` the step of the last one. */
  uses: number;
}

export interface Otp {
  /** Prefix and code. */
  readonly otp: string;
  /** Of `totp`: milliseconds until the next code. */
  readonly leftMs?: number;
  /** Of `totp`: whether the code was shown before, and is no longer accepted. */
  readonly given?: boolean;
}

export interface SoftwareKeys {
  /** Returns a new key with a random secret. It is not stored yet. */
  draft(fields: z.output<typeof newSoftwareKey>): SoftwareKey;
  /** Stores a key. Replaces one with the same prefix. */
  keep(key: SoftwareKey): void;
  all(): readonly SoftwareKey[];
  /** Returns the next OTP of a key; undefined for an unknown prefix. */
  next(prefix: string): Otp | undefined;
  remove(prefix: string): void;
}

/** @param statePath where the keys are stored; in memory if absent */
export function createSoftwareKeys(statePath?: string): SoftwareKeys {
  const state = openState<{ keys: SoftwareKey[] }>(statePath, { keys: [] });
  const remove = (prefix: string) => {
    state.value.keys = state.value.keys.filter(key => key.prefix !== prefix);
    state.save();
  };
  return {
    draft: ({ kind, prefix = toModhex(randomBytes(6)), digits, period, algorithm }) => ({
      prefix,
      kind,
      digits,
      uses: 0,
      secret: randomBytes(kind === "yubico" ? 16 : 20).toString("hex"),
      ...(kind === "yubico" ? { privateId: randomBytes(6).toString("hex") } : {}),
      ...(kind === "totp" && omitUndefined({ period, algorithm })),
    }),
    keep: key => {
      remove(key.prefix);
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
    remove,
  };
}

function show(key: SoftwareKey): Otp {
  const secret = Buffer.from(key.secret, "hex");
  if (key.kind === "totp") {
    const { step, leftMs } = totpStep(Date.now(), key.period);
    const given = key.uses === step;
    key.uses = step;
    return {
      otp: key.prefix + oathCode({ secret, digits: key.digits, algorithm: key.algorithm }, step),
      leftMs,
      given,
    };
  }
  const use = key.uses++;
  if (key.kind === "hotp") return { otp: key.prefix + oathCode({ secret, digits: key.digits }, use) };
  return { otp: key.prefix + yubicoCode(secret, Buffer.from(key.privateId ?? "", "hex"), use) };
}
