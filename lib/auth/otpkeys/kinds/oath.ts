import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { type CryptoPlugin, createGuardrails, verifySync } from "otplib";
import { omitUndefined } from "../../../platform/collections.ts";
import type { CodeFormat, KeyDraft, Prepared, TotpAlgorithm } from "./contract.ts";
import { draftProblems } from "./draft-problems.ts";

const lengths = [6, 7, 8];

/** Forms of codes of both OATH kinds: 6 to 8 digits (A7). */
export const oathCodeFormats: readonly CodeFormat[] = lengths.map(length => ({ length, alphabet: "digits" }));

/** At least 112 bits. At most one block of SHA-1 and SHA-256: HMAC would hash a longer secret down to fewer bytes. */
const secretBytes = { min: 14, max: 64 };
/** The maximum leaves room for every window below 2^53. */
const counter = { min: 0, max: 2 ** 52 };
/** Safety limit of the library; our widest window is `hotpResync`. */
const maxWindow = 1000;

const guardrails = createGuardrails({
  MIN_SECRET_BYTES: secretBytes.min,
  MAX_SECRET_BYTES: secretBytes.max,
  MAX_COUNTER: Number.MAX_SAFE_INTEGER,
  // The library counts the codes of a window, both ends included.
  MAX_WINDOW: maxWindow + 1,
});

/** Cached, because creating a key object costs several times the HMAC of one code, and a window has many codes. */
const keyObjects = new WeakMap<Uint8Array, KeyObject>();

function keyObjectOf(secret: Uint8Array): KeyObject {
  const key = keyObjects.get(secret) ?? createSecretKey(secret);
  keyObjects.set(secret, key);
  return key;
}

/** HMAC and constant-time comparison of Node. */
const nodeCrypto: CryptoPlugin = {
  name: "node",
  hmac: (algorithm, key, data) => createHmac(algorithm, keyObjectOf(key)).update(data).digest(),
  randomBytes: () => {
    throw new Error("Checking a code needs no randomness");
  },
  constantTimeEqual: (a, b) => {
    const [one, other] = [Buffer.from(a), Buffer.from(b)];
    return one.length === other.length && timingSafeEqual(one, other);
  },
};

/**
 * Checks an imported OATH key and adds the defaults: 6 digits, counter 0.
 * @param rules the allowed time steps, hash functions and clock drifts of the kind
 */
export function prepareOath(
  draft: KeyDraft,
  rules: Pick<Parameters<typeof draftProblems>[1], "period" | "algorithm" | "drift">,
): Prepared {
  const problems = draftProblems(draft, {
    secret: secretBytes,
    privateId: "absent",
    digits: lengths,
    counter,
    ...rules,
  });
  if (problems.length > 0 || draft.secret === undefined) return { ok: false, problems };
  return {
    ok: true,
    secret: { secret: draft.secret },
    parameters: {
      digits: draft.digits ?? 6,
      state: { counter: draft.counter ?? 0, ...omitUndefined({ drift: draft.drift }) },
    },
  };
}

const hashes = { SHA1: "sha1", SHA256: "sha256", SHA512: "sha512" } as const;

/**
 * Returns the smallest moving factor (RFC 4226) in [from, to] that produces `code`; undefined if there is none. Throws
 * if the window is wider than `maxWindow`.
 */
export function findMovingFactor(
  { secret, algorithm = "SHA1" }: { readonly secret: Uint8Array; readonly algorithm?: TotpAlgorithm | undefined },
  code: string,
  from: number,
  to: number,
): number | undefined {
  if (from < 0 || to < from) return undefined;
  const result = verifySync({
    strategy: "hotp",
    secret,
    token: code,
    algorithm: hashes[algorithm],
    digits: code.length === 8 ? 8 : code.length === 7 ? 7 : 6,
    counter: from,
    counterTolerance: [0, to - from],
    crypto: nodeCrypto,
    guardrails,
  });
  return result.valid ? from + result.delta : undefined;
}
