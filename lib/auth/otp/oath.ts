import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { type CryptoPlugin, createGuardrails, verifySync } from "otplib";
import type { CodeForm, KeyDraft, Prepared } from "./contract.ts";
import { draftProblems } from "./draft.ts";

/** Both OATH kinds: 6 or 8 digits (decision A7). */
export const oathForms: readonly CodeForm[] = [
  { length: 6, alphabet: "digits" },
  { length: 8, alphabet: "digits" },
];

/** 112 bits at least (decision A7); more than a block of SHA-1 would only be hashed down to less. */
const secretBytes = { least: 14, most: 64 };
/** Far enough from 2^53 that no window passes it. */
const counter = { least: 0, most: 2 ** 52 };
/** The widest resynchronisation that a setting may ask for. */
export const widestWindow = 1000;

const guardrails = createGuardrails({
  MIN_SECRET_BYTES: secretBytes.least,
  MAX_SECRET_BYTES: secretBytes.most,
  MAX_COUNTER: Number.MAX_SAFE_INTEGER,
  MAX_WINDOW: widestWindow + 1,
});

/** Made once for the many codes of a window: it costs several times the HMAC of one. */
const keyObjects = new WeakMap<Uint8Array, KeyObject>();

function keyObjectOf(secret: Uint8Array): KeyObject {
  const key = keyObjects.get(secret) ?? createSecretKey(secret);
  keyObjects.set(secret, key);
  return key;
}

/** The platform's own HMAC and comparison. */
export const nodeCrypto: CryptoPlugin = {
  name: "node",
  hmac: (algorithm, key, data) => createHmac(algorithm, keyObjectOf(key)).update(data).digest(),
  randomBytes: () => {
    throw new Error("checking a code takes no randomness");
  },
  constantTimeEqual: (a, b) => {
    const [one, other] = [Buffer.from(a), Buffer.from(b)];
    return one.length === other.length && timingSafeEqual(one, other);
  },
};

/** An OATH key of an import: HMAC-SHA-1, 6 digits where none are given. */
export function prepareOath(draft: KeyDraft): Prepared {
  const problems = draftProblems(draft, { secret: secretBytes, privateId: "absent", digits: [6, 8], counter });
  if (problems.length > 0 || draft.secret === undefined) return { ok: false, problems };
  return {
    ok: true,
    secret: { secret: draft.secret },
    form: { digits: draft.digits ?? 6, state: { counter: draft.counter ?? 0 } },
  };
}

/** The least moving factor of `from` to `to`, both included, whose code this is (RFC 4226). Undefined where there is none. */
export function movingFactorOf(secret: Uint8Array, code: string, from: number, to: number): number | undefined {
  if (from < 0 || to < from) return undefined;
  const result = verifySync({
    strategy: "hotp",
    secret,
    token: code,
    digits: code.length === 8 ? 8 : 6,
    counter: from,
    counterTolerance: [0, to - from],
    crypto: nodeCrypto,
    guardrails,
  });
  return result.valid ? from + result.delta : undefined;
}
