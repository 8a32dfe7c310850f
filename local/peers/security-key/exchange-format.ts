import { Buffer } from "node:buffer";
import { CompactEncrypt, CompactSign, compactDecrypt, decodeProtectedHeader, type JWK } from "jose";
import * as z from "zod";
import { wrongFields } from "../read-body.ts";
import { codedRefusal } from "../refusal.ts";

const ALGORITHMS = ["ECDH-ES+A256KW", "ECDH-ES"];
const ENCRYPTION = "A256GCM";
const FORBIDDEN_HEADERS = ["jku", "jwk", "x5u", "x5c", "zip", "crit"];

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/, "must be base64url without padding");
const coordinate = base64url.length(64);

const responseKey = z.strictObject({
  kty: z.literal("EC"),
  crv: z.literal("P-384"),
  x: coordinate,
  y: coordinate,
  kid: z.string().min(1),
  use: z.literal("enc"),
  alg: z.literal("ECDH-ES+A256KW"),
});
const version = z.literal(1);
const text = z.string().min(1);
const parameter = z.object({ type: z.literal("public-key"), alg: z.int() });

/** The payloads of docs/peers/exchange-format.md that the key maker reads. */
const credentialRequest = z.strictObject({
  v: version,
  type: z.literal("credential_request"),
  response_key: responseKey,
  origin: z.url(),
  public_key: z.looseObject({
    rp: z.looseObject({ id: text, name: z.string() }),
    user: z.looseObject({ id: base64url, name: text, displayName: z.string() }),
    challenge: base64url,
    pubKeyCredParams: z.array(parameter).min(1),
  }),
});

const pinRequest = z.strictObject({
  v: version,
  type: z.literal("pin_request"),
  response_key: responseKey,
  pin: z.strictObject({ type: z.literal("generate"), length: z.int().min(4).max(63) }),
});

export type ResponseKey = z.output<typeof responseKey>;

/** The decrypted requests for one key. */
export interface KeyRequests {
  readonly credentials: readonly z.output<typeof credentialRequest>[];
  readonly pin?: z.output<typeof pinRequest>;
}

/** Decrypts the requests for one key. Throws a refusal with the field that is wrong. @param prefix of the fields' names */
export async function openRequests(
  prefix: string,
  { credentials, pin }: { readonly credentials: readonly string[]; readonly pin: string | undefined },
  transportKeys: readonly JWK[],
): Promise<KeyRequests> {
  const open = <S extends z.ZodType>(schema: S, jwe: string, field: string) =>
    openRequest(schema, jwe, transportKeys).catch((error: Error) => {
      throw codedRefusal("validation_error", `${prefix}${field}: ${error.message}`);
    });
  const opened = credentials.map((jwe, at) => open(credentialRequest, jwe, `credential_requests.${at}`));
  return {
    credentials: await Promise.all(opened),
    ...(pin !== undefined && { pin: await open(pinRequest, pin, "pin_request") }),
  };
}

/** Decrypts a request with the private key that its `kid` names. Rejects with a reason that the caller may see. */
async function openRequest<S extends z.ZodType>(
  schema: S,
  jwe: string,
  transportKeys: readonly JWK[],
): Promise<z.output<S>> {
  const { alg = "", enc, kid, ...others } = headerOf(jwe);
  if (!ALGORITHMS.includes(alg)) throw new Error(`alg must be one of ${ALGORITHMS.join(", ")}`);
  if (enc !== ENCRYPTION) throw new Error(`enc must be ${ENCRYPTION}`);
  const forbidden = FORBIDDEN_HEADERS.filter(name => name in others);
  if (forbidden.length > 0) throw new Error(`header ${forbidden.join(", ")} is not allowed`);
  const key = transportKeys.find(candidate => candidate.kid === kid);
  if (key === undefined) throw new Error("kid names no transport key");
  const payload = schema.safeParse(await decrypted(jwe, key));
  if (!payload.success) throw new Error(wrongFields(payload.error));
  return payload.data;
}

/** Signs `payload` with `signKey`, then encrypts it for `recipient`. Both headers name the key that the reader needs. */
export async function sealResponse(
  payload: Readonly<Record<string, unknown>>,
  { recipient, signKey }: { readonly recipient: JWK; readonly signKey: JWK },
): Promise<string> {
  const jws = await new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader({ alg: "ES384", ...named(signKey) })
    .sign(signKey);
  return new CompactEncrypt(Buffer.from(jws))
    .setProtectedHeader({ alg: "ECDH-ES+A256KW", enc: ENCRYPTION, ...named(recipient) })
    .encrypt(recipient);
}

const named = ({ kid }: JWK) => (kid === undefined ? {} : { kid });

function headerOf(jwe: string) {
  try {
    return decodeProtectedHeader(jwe);
  } catch (cause) {
    throw new Error("is no compact JWE", { cause });
  }
}

async function decrypted(jwe: string, key: JWK): Promise<unknown> {
  try {
    const { plaintext } = await compactDecrypt(jwe, key);
    return JSON.parse(new TextDecoder("utf8", { fatal: true }).decode(plaintext));
  } catch (cause) {
    throw new Error("cannot be decrypted", { cause });
  }
}
