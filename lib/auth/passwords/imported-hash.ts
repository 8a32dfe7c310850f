import { pbkdf2 } from "node:crypto";
import { promisify } from "node:util";
import * as z from "zod";
import { omitUndefined } from "../../platform/collections.ts";
import { accepted, type Parsed, refused } from "../../platform/fault.ts";
import type { Immutable } from "../../platform/stored.ts";
import { trimEnd } from "../../platform/text.ts";

export const importedSchemes = [
  "argon2id",
  "bcrypt",
  "pbkdf2-sha256",
  "pbkdf2-sha512",
  "sha256-crypt",
  "sha512-crypt",
] as const;

/** Argon2id in `@node-rs/argon2`, which exports this number only as a const enum: that does not exist at run time. */
export const argon2id = 2;

type ImportedScheme = (typeof importedSchemes)[number];

/** How another server hashed a password: its hash without the tag. */
export const importedSchema = z.lazy(() =>
  z.object({
    scheme: z.enum(importedSchemes),
    /** Iterations or rounds; passes of argon2id; of bcrypt the base-2 logarithm of the rounds. */
    cost: z.int(),
    /** Of SHA-crypt and bcrypt in their own alphabet, of the others base64 without padding. */
    salt: z.string(),
    /** Of argon2id, in KiB. */
    memoryCost: z.int().exactOptional(),
    /** Of argon2id. */
    parallelism: z.int().exactOptional(),
    /** Of argon2id. Other schemes have one length. */
    tagBytes: z.int().exactOptional(),
  }),
);
type ImportedParameters = Immutable<z.output<typeof importedSchema>>;

/** A hash that another server made. */
export interface ImportedHash {
  readonly parameters: ImportedParameters;
  /** As `computeTag` returns it. */
  readonly tag: string;
}

/**
 * Maximum cost of an imported hash: each sign-in with the username computes it, also with a wrong password. At each
 * limit that takes at most about a second of a core, as measured in A25; the defaults of passlib 1.7 and Django 6 are
 * below.
 */
const maxCost: Readonly<Record<Exclude<ImportedScheme, "argon2id">, number>> = {
  bcrypt: 13,
  "pbkdf2-sha256": 2_000_000,
  "pbkdf2-sha512": 2_000_000,
  "sha256-crypt": 660_000,
  "sha512-crypt": 660_000,
};
/** Memory in KiB, memory times passes, and lanes. */
const maxArgon2 = { memory: 65_536, work: 1_048_576, parallelism: 16 };

const malformed = refused("is malformed");
const tooCostly = (limit: string) => refused(`costs too much for a sign-in: at most ${limit}`);

/**
 * Parses a hash in the format of passlib, crypt(3), bcrypt, Django or PHC. The reason of a refusal does not contain the
 * hash.
 */
export function parseImportedHash(text: string): Parsed<ImportedHash> {
  if (text.startsWith("$pbkdf2-sha")) return parsePasslib(text);
  if (text.startsWith("pbkdf2_sha256$")) return parseDjango(text);
  if (/^\$[56]\$/.test(text)) return parseCrypt(text);
  if (/^\$2[aby]\$/.test(text)) return parseBcrypt(text);
  if (text.startsWith("$argon2id$")) return parseArgon2id(text);
  return refused(
    "must begin with $argon2id$, $2a$, $2b$, $2y$, $5$, $6$, $pbkdf2-sha256$, $pbkdf2-sha512$ or pbkdf2_sha256$",
  );
}

/** Returns the bytes of a text in base64 without padding; undefined if another text has the same bytes. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return unpadded(bytes) === text ? bytes : undefined;
}

/** Returns the bytes in Base64 without padding, as PHC strings have them. */
const unpadded = (bytes: Buffer): string => trimEnd(bytes.toString("base64"), "=");

/** passlib writes `.` for the `+` of base64. */
function parsePasslib(text: string): Parsed<ImportedHash> {
  const [, bits, cost, salt = "", tag = ""] =
    /^\$pbkdf2-sha(256|512)\$([1-9][0-9]{0,8})\$([A-Za-z0-9./]{1,172})\$([A-Za-z0-9./]{43,86})$/.exec(text) ?? [];
  const [saltBytes, tagBytes] = [salt, tag].map(each => bytesOf(each.replaceAll(".", "+")));
  if (saltBytes === undefined || tagBytes?.length !== Number(bits) / 8) return malformed;
  return acceptPbkdf2(bits === "256" ? "pbkdf2-sha256" : "pbkdf2-sha512", Number(cost), saltBytes, tagBytes);
}

function parseDjango(text: string): Parsed<ImportedHash> {
  const [, cost, salt, tag = ""] =
    /^pbkdf2_sha256\$([1-9][0-9]{0,8})\$([^$]{1,128})\$([A-Za-z0-9+/]{43})=$/.exec(text) ?? [];
  const tagBytes = bytesOf(tag);
  if (salt === undefined || tagBytes === undefined) return malformed;
  return acceptPbkdf2("pbkdf2-sha256", Number(cost), Buffer.from(salt, "utf8"), tagBytes);
}

function acceptPbkdf2(
  scheme: "pbkdf2-sha256" | "pbkdf2-sha512",
  cost: number,
  salt: Buffer,
  tag: Buffer,
): Parsed<ImportedHash> {
  if (cost > maxCost[scheme]) return tooCostly(`${maxCost[scheme]} iterations`);
  return accepted({ parameters: { scheme, cost, salt: unpadded(salt) }, tag: unpadded(tag) });
}

/** SHA-crypt. Without `rounds` there are 5,000. */
function parseCrypt(text: string): Parsed<ImportedHash> {
  const [, id, rounds = "5000", salt, tag = ""] =
    /^\$([56])\$(?:rounds=([1-9][0-9]{3,8})\$)?([A-Za-z0-9./]{1,16})\$([A-Za-z0-9./]{43,86})$/.exec(text) ?? [];
  if (salt === undefined || tag.length !== (id === "5" ? 43 : 86)) return malformed;
  const [scheme, cost] = [id === "5" ? "sha256-crypt" : "sha512-crypt", Number(rounds)] as const;
  if (cost > maxCost[scheme]) return tooCostly(`${maxCost[scheme]} rounds`);
  return accepted({ parameters: { scheme, cost, salt }, tag });
}

function parseBcrypt(text: string): Parsed<ImportedHash> {
  const [, cost, salt, tag = ""] =
    /^\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$([A-Za-z0-9./]{22})([A-Za-z0-9./]{31})$/.exec(text) ?? [];
  if (salt === undefined) return malformed;
  if (Number(cost) > maxCost.bcrypt) return tooCostly(`cost ${maxCost.bcrypt}`);
  return accepted({ parameters: { scheme: "bcrypt", cost: Number(cost), salt }, tag });
}

function parseArgon2id(text: string): Parsed<ImportedHash> {
  const [, m, t, p, salt = "", tag = ""] =
    /^\$argon2id\$v=19\$m=([1-9][0-9]{0,8}),t=([1-9][0-9]{0,8}),p=([1-9][0-9]{0,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/.exec(
      text,
    ) ?? [];
  const [memoryCost, cost, parallelism] = [Number(m), Number(t), Number(p)];
  const [saltBytes, tagBytes] = [bytesOf(salt), bytesOf(tag)];
  if (saltBytes === undefined || tagBytes === undefined || !(memoryCost >= 8 * parallelism)) return malformed;
  const { memory, work } = maxArgon2;
  if (memoryCost > memory || memoryCost * cost > work || parallelism > maxArgon2.parallelism)
    return tooCostly(`m=${memory}, p=${maxArgon2.parallelism}, and m times t ${work}`);
  const parameters = { scheme: "argon2id", cost, salt, memoryCost, parallelism, tagBytes: tagBytes.length } as const;
  return accepted({ parameters, tag });
}

/** Bytes of the longest password that a crypt scheme hashes: their cost grows with the length. */
const maxCryptBytes = 128;

/**
 * Whether the scheme of an imported hash accepts the password. Otherwise the password is wrong and must not be hashed.
 */
export const isPossible = (password: string, { scheme }: ImportedParameters): boolean =>
  !scheme.endsWith("-crypt") || Buffer.byteLength(password) <= maxCryptBytes;

/**
 * Hashes a password as the server did from which it was imported. The text is hashed as given: the other server did not
 * normalise it. No scheme computes on the event loop.
 */
export async function computeTag(password: string, parameters: ImportedParameters): Promise<string> {
  const { scheme, cost, salt, memoryCost, parallelism, tagBytes } = parameters;
  switch (scheme) {
    case "pbkdf2-sha256":
      return unpadded(await promisify(pbkdf2)(password, Buffer.from(salt, "base64"), cost, 32, "sha256"));
    case "pbkdf2-sha512":
      return unpadded(await promisify(pbkdf2)(password, Buffer.from(salt, "base64"), cost, 64, "sha512"));
    case "argon2id": {
      const { hashRaw } = await import("@node-rs/argon2");
      const given = omitUndefined({ timeCost: cost, memoryCost, parallelism, outputLen: tagBytes });
      return unpadded(await hashRaw(password, { ...given, salt: Buffer.from(salt, "base64"), algorithm: argon2id }));
    }
    default: {
      const { cryptInThread } = await import("./crypt-thread.ts");
      return cryptInThread({ password, scheme, cost, salt });
    }
  }
}
