import { createHmac } from "node:crypto";
import pLimit from "p-limit";
import { Fault } from "../../fault.ts";
import type { KeyRing } from "../../seal.ts";
import { normalPassword } from "./password.ts";

/** A password as it is stored (decision A4). */
export interface StoredPassword {
  /** PHC string: scheme, cost, salt and tag. */
  readonly hash: string;
  /** Version of the pepper that went into it. */
  readonly pepper: string;
}

/** argon2id's cost; memory in KiB. */
export interface HashCost {
  readonly memoryCost: number;
  readonly timeCost: number;
  readonly parallelism: number;
}

export interface PasswordHashOptions {
  /** Versions of the pepper, 32 bytes each, kept apart from the hashes. */
  readonly pepper: KeyRing;
  readonly random: (bytes: number) => Uint8Array;
  /** Hashes at once: each takes a core and `memoryCost`, and callers who are nobody yet start them. */
  readonly inFlight: number;
  /** Hashes that may wait for their turn. */
  readonly waiting: number;
  /** By default the decided one. */
  readonly cost?: HashCost;
}

/** Hashes and checks passwords (decision A4). What the key ring throws is thrown on; `unavailable` where too many hashes wait. */
export interface PasswordHasher {
  hash(password: string): Promise<StoredPassword>;
  /**
   * Whether the password is the stored one. Without a stored one, for an unknown user or one without a password, the answer is
   * "no" after the time of a hash. An empty password is nobody's and costs no time, whoever is asked for.
   */
  verify(password: string, stored: StoredPassword | undefined): Promise<boolean>;
  /** Whether the hash is of another cost or pepper than today's, so that a good sign-in should replace it. */
  isOutdated(stored: StoredPassword): Promise<boolean>;
}

/** Decision A4; OWASP's and ASVS appendix C's first choice. */
export const decidedCost: HashCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

const saltBytes = 16;
const tagBytes = 32;
/** argon2id; the package's own name for it is a constant that does not outlive its type declarations. */
const argon2id = 2;

export function createPasswordHasher(options: PasswordHashOptions): PasswordHasher {
  const { pepper, random, waiting, cost = decidedCost } = options;
  const limit = pLimit(options.inFlight);
  const parameters = { ...cost, algorithm: argon2id, outputLen: tagBytes };

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (limit.pendingCount >= waiting) {
      throw new Fault("unavailable", "Too many passwords are being checked.", { retryAfter: 1 });
    }
    return limit(work);
  };
  const newHash = async (password: string, salt: Uint8Array): Promise<StoredPassword> => {
    const { version, key } = await pepper.current();
    const { hash } = await argon2();
    return { hash: await inTurn(() => hash(peppered(password, key), { ...parameters, salt })), pepper: version };
  };

  return {
    hash: password => newHash(password, random(saltBytes)),
    async verify(password, stored) {
      if (password === "") return false;
      if (stored === undefined) {
        await newHash(password, new Uint8Array(saltBytes));
        return false;
      }
      const key = await pepper.version(stored.pepper);
      if (key === undefined) throw new Error(`Version ${stored.pepper} of the pepper is not there`);
      const { verify } = await argon2();
      return inTurn(() => verify(stored.hash, peppered(password, key)));
    },
    async isOutdated(stored) {
      const { version } = await pepper.current();
      const { parseOptions } = await argon2();
      const was = parseOptions(stored.hash);
      return (
        stored.pepper !== version ||
        was.algorithm !== argon2id ||
        was.memoryCost !== cost.memoryCost ||
        was.timeCost !== cost.timeCost ||
        was.parallelism !== cost.parallelism ||
        was.outputLen !== tagBytes ||
        was.saltLen !== saltBytes
      );
    },
  };
}

let loaded: Promise<typeof import("@node-rs/argon2")> | undefined;

/** Loaded at the first use: where the platform's binary is missing, only what needs it fails. */
function argon2(): Promise<typeof import("@node-rs/argon2")> {
  loaded ??= import("@node-rs/argon2");
  return loaded;
}

/** As text, because the package's check takes nothing but UTF-8. */
const peppered = (password: string, pepper: Uint8Array): string =>
  createHmac("sha256", pepper).update(normalPassword(password), "utf8").digest("base64");
