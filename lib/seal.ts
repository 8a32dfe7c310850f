import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from "jose";

/** The key-encryption keys by their versions: 32 bytes each. */
export interface KeyRing {
  /** What is sealed from now on. */
  current(): Promise<{ readonly version: string; readonly key: Uint8Array }>;
  version(version: string): Promise<Uint8Array | undefined>;
}

/** Where a sealed value stands and what it is for: it opens nowhere else. */
export interface SealContext {
  readonly table: string;
  /** Partition and row key. */
  readonly row: string;
  readonly purpose: string;
}

/** A sealed value that cannot be opened. Neither message nor cause holds any of its content. */
export class SealError extends Error {
  override readonly name = "SealError";
}

/** Envelope encryption of secrets at rest (decision G8). What the key ring throws is thrown on. */
export interface Sealer {
  /** A compact JWE whose `kid` is the key's version; authenticated with its place. */
  seal(plaintext: string, place: SealContext): Promise<string>;
  /** Throws a `SealError` where it was changed, moved, or sealed by a key that the ring has not. */
  open(sealed: string, place: SealContext): Promise<string>;
  /** The version of the key that `seal` uses. */
  currentVersion(): Promise<string>;
  /**
   * Returns the text with every value that was sealed for this table and row sealed again under the current version; undefined
   * where nothing changes. Values that name another place are text, not ours to open: a caller may have typed them. Throws as
   * `open` does.
   */
  renew(text: string, row: Pick<SealContext, "table" | "row">): Promise<string | undefined>;
}

const alg = "A256GCMKW";
const enc = "A256GCM";
const allowed = { keyManagementAlgorithms: [alg], contentEncryptionAlgorithms: [enc] };

export function createSealer(keys: KeyRing): Sealer {
  const seal = async (plaintext: string, { table, row, purpose }: SealContext) => {
    const { version, key } = await keys.current();
    return new CompactEncrypt(new TextEncoder().encode(plaintext))
      .setProtectedHeader({ alg, enc, kid: version, table, row, purpose })
      .encrypt(key);
  };

  const open = async (sealed: string, place: SealContext) => {
    const version = versionOf(sealed);
    const key = await keys.version(version);
    if (key === undefined) throw new SealError(`Sealed by version ${version} of the key, which is not there`);
    const { plaintext, protectedHeader } = await compactDecrypt(sealed, key, allowed).catch((cause: unknown) => {
      throw new SealError("A sealed value was changed, or is none", { cause });
    });
    for (const part of ["table", "row", "purpose"] as const)
      if (protectedHeader[part] !== place[part]) throw new SealError(`Sealed for another ${part}`);
    return new TextDecoder().decode(plaintext);
  };

  return {
    seal,
    open,
    currentVersion: async () => (await keys.current()).version,
    async renew(text, { table, row }) {
      const own = sealedIn(text).filter(({ place }) => place.table === table && place.row === row);
      if (own.length === 0) return undefined;
      const { version } = await keys.current();
      const old = own.filter(({ sealed }) => versionOf(sealed) !== version);
      let renewed = text;
      for (const { sealed, place } of old)
        renewed = renewed.replaceAll(sealed, await seal(await open(sealed, place), place));
      return old.length === 0 ? undefined : renewed;
    },
  };
}

interface Sealed {
  readonly sealed: string;
  readonly place: SealContext;
}

/** The values in a text that name a place: five parts of base64url, the first of which is JSON. In linear time, as callers write texts. */
function sealedIn(text: string): readonly Sealed[] {
  const found = new Set(text.match(/[\w.-]+/g));
  return [...found].flatMap(sealed => {
    const place = sealed.startsWith("eyJ") && sealed.split(".", 6).length === 5 ? placeOf(sealed) : undefined;
    return place === undefined ? [] : [{ sealed, place }];
  });
}

/** The place that a value of ours names; undefined for one that others have encrypted. */
function placeOf(value: string): SealContext | undefined {
  try {
    const header: Record<string, unknown> = decodeProtectedHeader(value);
    const { table, row, purpose } = header;
    const isOurs = typeof table === "string" && typeof row === "string" && typeof purpose === "string";
    return isOurs ? { table, row, purpose } : undefined;
  } catch {
    return undefined;
  }
}

function versionOf(sealed: string): string {
  const kid = headerOf(sealed).kid;
  if (typeof kid !== "string") throw new SealError("A sealed value names no version of the key");
  return kid;
}

function headerOf(sealed: string) {
  try {
    return decodeProtectedHeader(sealed);
  } catch (cause) {
    throw new SealError("A sealed value was changed, or is none", { cause });
  }
}
