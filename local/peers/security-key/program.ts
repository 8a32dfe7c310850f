import { randomBytes, randomInt } from "node:crypto";
import type { JWK } from "jose";
import type { Authenticator } from "./authenticator.ts";
import { type KeyRequests, type ResponseKey, sealResponse } from "./exchange-format.ts";
import { newKey, publicHalf } from "./keyring.ts";
import type { KeyResponses, WrongAnswer } from "./sabotage.ts";

/** The decrypted requests for one physical key. */
export interface KeyOrder extends KeyRequests {
  readonly productId: number;
}

export interface ProgrammedKey {
  readonly serial: string;
  readonly pin?: string;
  readonly credentialIds: readonly string[];
  readonly responses: KeyResponses;
}

interface Maker {
  readonly authenticator: Authenticator;
  readonly signKey: JWK;
  readonly serial: string;
  /** Used instead of a generated one. */
  readonly pin?: string | undefined;
}

/** Of every simulated security key. */
export const FIRMWARE = "5.7.4";
/** Product 8 represents the keys that require a longer PIN (connector specification section 2). */
const minimumPinLength = (productId: number) => (productId === 8 ? 8 : 4);

/** Creates the credentials and the PIN of one key and encrypts them for the caller. Throws if the key cannot create them. */
export async function programKey(order: KeyOrder, maker: Maker, wrong?: WrongAnswer): Promise<ProgrammedKey> {
  const seal = sealer(maker.signKey, wrong);
  const made = order.credentials.map(request => {
    const { public_key, response_key, origin } = request;
    const challenge = wrong === "other-request" ? randomBytes(32).toString("base64url") : public_key.challenge;
    return { response_key, credential: maker.authenticator.create({ ...public_key, challenge }, origin) };
  });
  const credentials = await Promise.all(
    made.map(({ response_key, credential }) => seal(response_key, credentialResponse(credential))),
  );
  const key = { serial: maker.serial, credentialIds: made.map(({ credential }) => credential.id) };
  if (order.pin === undefined) return { ...key, responses: { credentials } };
  const pin = maker.pin ?? generatedPin(Math.max(order.pin.pin.length, minimumPinLength(order.productId)));
  return { ...key, pin, responses: { credentials, pin: await seal(order.pin.response_key, pinResponse(pin)) } };
}

export const credentialResponse = ({ id, ...response }: ReturnType<Authenticator["create"]>) => ({
  v: 1,
  type: "credential_response",
  id,
  response,
  client_extension_results: {},
});
export const pinResponse = (pin: string | undefined) => ({ v: 1, type: "pin_response", pin });

/** Returns a random PIN of digits, as key makers and agents generate it. */
export const generatedPin = (length: number): string => Array.from({ length }, () => randomInt(10)).join("");

/** Wrong keys have the `kid` of the right key, so that only the cryptography shows the difference. */
const sealer = (signKey: JWK, wrong?: WrongAnswer) => async (to: ResponseKey, payload: Record<string, unknown>) =>
  sealResponse(payload, {
    signKey: wrong === "wrong-signature" ? { ...(await newKey("ES384", "sig")), ...named(signKey) } : signKey,
    recipient: wrong === "wrong-key" ? { ...publicHalf(await newKey("ECDH-ES+A256KW", "enc")), ...named(to) } : to,
  });

const named = ({ kid }: JWK): JWK => (kid === undefined ? {} : { kid });
