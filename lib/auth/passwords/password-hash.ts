import { createHmac } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import type { KeyRing } from "../../platform/crypto.ts";
import type { Immutable } from "../../platform/stored.ts";
import type { Instant } from "../../platform/time.ts";
import { isTooLongToNormalize } from "../users/username.ts";
import { createHashQueue, type HashQueueOptions, type HashSlot } from "./hash-queue.ts";
import { argon2id, computeTag, type ImportedHash, importedSchema, isPossible } from "./imported-hash.ts";

/** A stored password (A4). */
export const passwordSchema = z.lazy(() =>
  z.object({
    /** PHC string: scheme, cost, salt and tag. */
    hash: z.string(),
    /** Version of the pepper that the hash contains. */
    pepper: z.string(),
    /**
     * Present until the first sign-in with an imported hash: `hash` is then that of the imported tag instead of the
     * password.
     */
    imported: importedSchema.exactOptional(),
    /** Present: the user must change the password before the next session. */
    mustChange: z.literal(true).exactOptional(),
  }),
);
export type StoredPassword = Immutable<z.output<typeof passwordSchema>>;

/** The user whose password is checked. Without a password none is right. */
interface PasswordOwner {
  readonly id: number;
  readonly password?: StoredPassword;
}

/** Cost of argon2id; memory in KiB. */
export interface HashCost {
  readonly memoryCost: number;
  readonly timeCost: number;
  readonly parallelism: number;
}

/** Each hash in progress takes a core and `memoryCost`, and anonymous callers start them: so the queue is bounded. */
export interface PasswordHashOptions extends HashQueueOptions {
  /** Versions of the pepper, 32 bytes each. They are stored in Key Vault, apart from the hashes. */
  readonly pepper: KeyRing;
  /** From this time on, a password that still has an imported hash is refused. Undefined: no end. */
  readonly importedUntil?: Instant | undefined;
  /** Default: `defaultCost`. */
  readonly cost?: HashCost;
}

/** First choice of OWASP and of ASVS appendix C. */
export const defaultCost: HashCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

const saltBytes = 16;
const tagBytes = 32;
/** Maximum number of remembered pepper versions that the vault does not have: versions come from stored rows. */
const maxProven = 1000;

export type PasswordHasher = ReturnType<typeof createPasswordHasher>;

/**
 * Hashes and checks passwords, in the order of the calls. Throws `OverloadFault` if the queue is full, and what the key
 * ring throws.
 */
export function createPasswordHasher(options: PasswordHashOptions) {
  const { pepper, random, now, importedUntil, cost = defaultCost } = options;
  const queue = createHashQueue(options);
  const parameters = { ...cost, algorithm: argon2id, outputLen: tagBytes };
  /** What every current hash begins with. */
  const head = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`;
  /**
   * The peppers of versions that the vault does not have, each found by a right password. With them a wrong password
   * costs one hash, as an unknown user does (A4).
   */
  const proven = new Map<string, Uint8Array>();

  const newHash = async (text: string, userId: number, salt: Uint8Array): Promise<StoredPassword> => {
    const { version, key } = await pepper.current();
    // Loaded at the first use: if the platform's binary is missing, only password checks fail.
    const { hash } = await import("@node-rs/argon2");
    return { hash: await queue.run(() => hash(peppered(text, userId, key), { ...parameters, salt })), pepper: version };
  };

  /**
   * Hashes the password of a user. The id is part of the hashed text, so that a hash that is moved to another user is
   * wrong there.
   * @param slot released after the hash; by default that of a known caller
   */
  const hashText = async (text: string, userId: number, slot?: HashSlot): Promise<StoredPassword> => {
    using _ = slot ?? queue.acquireSlot({ isKnown: true });
    return await newHash(text, userId, random(saltBytes));
  };

  /** Returns whether the stored password was imported and `importedUntil` is over. */
  const hasEnded = (stored: StoredPassword | undefined): boolean =>
    stored?.imported !== undefined && importedUntil !== undefined && now() >= importedUntil;

  /** Returns whether the stored hash is that of a text, which is computed in the same turn. */
  const matches = async (textOf: () => string | Promise<string>, userId: number, stored: StoredPassword) => {
    const known = proven.get(stored.pepper);
    const keys = known === undefined ? await pepper.candidates(stored.pepper) : [known];
    if (keys.length === 0) throw new Error(`The secret password-pepper has no version ${stored.pepper}, and no other`);
    const { verify } = await import("@node-rs/argon2");
    // One turn for all candidates: a check that has started must not wait again behind others, or be refused.
    const matching = await queue.run(async () => {
      const text = await textOf();
      for (const key of keys) if (await verify(stored.hash, peppered(text, userId, key))) return key;
      return undefined;
    });
    if (matching === undefined) return false;
    if (keys.length > 1) {
      if (proven.size === maxProven) proven.clear();
      proven.set(stored.pepper, matching);
    }
    return true;
  };

  return {
    /** Acquires a slot for a later hash, so that an attempt which cannot be served is refused before any other work. */
    acquireHashSlot: queue.acquireSlot,
    hash: hashText,
    /**
     * Hashes the tag of an imported hash as `hash` does a password, so that the tables alone allow no guesses at the
     * password.
     */
    async hashImported({ parameters, tag }: ImportedHash, userId: number): Promise<StoredPassword> {
      return { ...(await hashText(tag, userId)), imported: parameters };
    },
    /** Returns whether the stored password is this imported hash. */
    async isImported({ parameters, tag }: ImportedHash, { id, password: stored }: PasswordOwner): Promise<boolean> {
      if (stored === undefined || !isDeepStrictEqual(stored.imported, parameters)) return false;
      using _ = queue.acquireSlot({ isKnown: true });
      return await matches(() => tag, id, stored);
    },
    hasEnded,
    /**
     * Returns whether the password is the stored one. For an imported hash computes that hash too. Without a stored
     * password (unknown user, user without one, or an imported hash that has ended) returns false after the time of a
     * hash, so that timing does not reveal it. An empty password is always wrong, and takes no time for any user.
     * @param owner id and stored password of the user; absent for an unknown user
     * @param slot released after the hash; by default that of a known caller
     */
    async verify(password: string, owner: PasswordOwner | undefined, slot?: HashSlot): Promise<boolean> {
      if (password === "") return false;
      using _ = slot ?? queue.acquireSlot({ isKnown: true });
      const stored = owner?.password;
      const imported = stored?.imported;
      const isChecked = imported === undefined || (!hasEnded(stored) && isPossible(password, imported));
      if (owner !== undefined && stored !== undefined && isChecked)
        return await matches(() => (imported ? computeTag(password, imported) : password), owner.id, stored);
      await newHash(password, 0, new Uint8Array(saltBytes));
      return false;
    },
    /**
     * Returns whether the hash is imported or has another cost or pepper than the current one, so that a granted
     * sign-in should replace it.
     */
    async isOutdated({ hash, pepper: used, imported }: StoredPassword): Promise<boolean> {
      return imported !== undefined || used !== (await pepper.current()).version || !hash.startsWith(head);
    },
  };
}

/**
 * Returns the peppered password of a user as text, because the package's `verify` accepts only UTF-8. The id comes
 * first, in a fixed length.
 */
const peppered = (password: string, userId: number, pepper: Uint8Array): string =>
  createHmac("sha256", pepper)
    .update(String(userId).padStart(16, "0") + normalPassword(password), "utf8")
    .digest("base64");

export const passwordMaxCodePoints = 1024;

/**
 * Returns the form in which a password is hashed: NFC, not truncated. A password over the maximum length stays as it
 * is.
 */
export const normalPassword = (text: string): string =>
  isTooLongToNormalize(text, passwordMaxCodePoints) ? text : text.normalize("NFC");
