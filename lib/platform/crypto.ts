import { createHash, createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto";
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from "jose";

/** The versions of a secret of 32 bytes, such as the key-encryption key. */
export interface KeyRing {
  /** Returns the newest version, which seals new values. */
  current(): Promise<{ readonly version: string; readonly key: Uint8Array }>;
  /**
   * Returns the keys that may open what was sealed under a version: the key of that version, or, if this vault has no
   * such version because the value was sealed with another vault, the keys of all its versions. Returns none for a text
   * that cannot be a version.
   */
  candidates(version: string): Promise<readonly Uint8Array[]>;
}

/** The additional authenticated data of a sealed value. The value opens only with the same context. */
interface SealContext {
  readonly table: string;
  /** Partition and row key. */
  readonly row: string;
  readonly purpose: string;
}

/** Thrown for a sealed value that cannot be decrypted. Message and cause contain no part of its content. */
export class SealError extends Error {
  override readonly name = "SealError";
}

const alg = "A256GCMKW";
const enc = "A256GCM";
const allowed = { keyManagementAlgorithms: [alg], contentEncryptionAlgorithms: [enc] };

export type Sealer = ReturnType<typeof createSealer>;

/** Envelope encryption of secrets at rest. Errors of the key ring are passed on (G8). */
export function createSealer(keys: KeyRing) {
  /** Returns a compact JWE whose `kid` is the key's version and whose header contains the context. */
  const seal = async (plaintext: string, { table, row, purpose }: SealContext) => {
    const { version, key } = await keys.current();
    return new CompactEncrypt(new TextEncoder().encode(plaintext))
      .setProtectedHeader({ alg, enc, kid: version, table, row, purpose })
      .encrypt(key);
  };

  /** Returns the plaintext. Throws SealError if the value was changed or moved, or if its key version is missing. */
  const open = async (sealed: string, context: SealContext) => {
    const version = versionOf(sealed);
    const { plaintext, protectedHeader } = await decryptWithAny(sealed, version, await keys.candidates(version));
    for (const part of ["table", "row", "purpose"] as const)
      if (protectedHeader[part] !== context[part]) throw new SealError(`Sealed for another ${part}`);
    return new TextDecoder().decode(plaintext);
  };

  return {
    seal,
    open,
    /** Returns the key version that `seal` uses. */
    currentVersion: async () => (await keys.current()).version,
    /**
     * Returns the text with every value that was sealed for this table and row sealed again under the current version;
     * undefined if nothing changes. Leaves values with another context as they are: a caller may have typed them.
     * Throws SealError.
     */
    async renew(text: string, { table, row }: Pick<SealContext, "table" | "row">): Promise<string | undefined> {
      const own = findSealed(text).filter(({ context }) => context.table === table && context.row === row);
      if (own.length === 0) return undefined;
      const { version } = await keys.current();
      const old = own.filter(({ sealed }) => versionOf(sealed) !== version);
      let renewed = text;
      for (const { sealed, context } of old)
        renewed = renewed.replaceAll(sealed, await seal(await open(sealed, context), context));
      return old.length === 0 ? undefined : renewed;
    },
  };
}

/** Opens a JWE with the first key that fits: the authentication tag proves which one it was sealed with. */
async function decryptWithAny(sealed: string, version: string, candidates: readonly Uint8Array[]) {
  let cause: unknown;
  for (const key of candidates) {
    try {
      return await compactDecrypt(sealed, key, allowed);
    } catch (error) {
      cause = error;
    }
  }
  throw new SealError(`A sealed value was changed, or its key version ${version} is not in this vault`, { cause });
}

interface Sealed {
  readonly sealed: string;
  readonly context: SealContext;
}

/**
 * Returns the sealed values in a text: JWEs (five base64url parts) whose header has a context. Takes linear time,
 * because callers write the texts.
 */
function findSealed(text: string): readonly Sealed[] {
  const found = new Set(text.match(/[\w.-]+/g));
  return [...found].flatMap(sealed => {
    const context = sealed.startsWith("eyJ") && sealed.split(".", 6).length === 5 ? contextOf(sealed) : undefined;
    return context === undefined ? [] : [{ sealed, context }];
  });
}

/** Returns the context in the header of a JWE; undefined for a JWE that this service did not create. */
function contextOf(value: string): SealContext | undefined {
  const { table, row, purpose } = headerOf(value);
  const hasContext = typeof table === "string" && typeof row === "string" && typeof purpose === "string";
  return hasContext ? { table, row, purpose } : undefined;
}

function versionOf(sealed: string): string {
  const { kid } = headerOf(sealed);
  if (typeof kid !== "string") throw new SealError("A sealed value was changed or is not a sealed value");
  return kid;
}

/** Returns the protected header of a JWE; an empty one for another text. */
function headerOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return decodeProtectedHeader(text);
  } catch {
    return {};
  }
}

/**
 * Returns the HMAC-SHA-256 for one purpose, whose key is derived from the current key of a key ring: every host of the
 * service has the same one, and a new key changes all hashes. Derives the key once for each version that the key ring
 * caches, because anonymous calls use it, also on an overloaded host, and a derivation costs more than its use.
 */
export function keyedHash(
  keys: Pick<KeyRing, "current">,
  purpose: string,
): (content: string | Uint8Array) => Promise<Buffer> {
  const derived = new WeakMap<Uint8Array, KeyObject>();
  return async content => {
    const { key } = await keys.current();
    const own = derived.get(key) ?? createSecretKey(new Uint8Array(hkdfSync("sha256", key, "", purpose, 32)));
    derived.set(key, own);
    return createHmac("sha256", own).update(content).digest();
  };
}

/** Returns the SHA-256 of a text in base64url, for a key, which limits length and characters, or for a secret. */
export const hashOf = (text: string): string => createHash("sha256").update(text, "utf8").digest("base64url");

/** Compares two texts in a time that reveals nothing of them. */
export const isSameText = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(hashOf(one)), Buffer.from(hashOf(other)));

/** Returns a GUID that is derived from a text, so that a repetition on any host gets the same. */
export const derivedGuid = (text: string): string =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
