import { randomBytes } from "node:crypto";
import type { JWK } from "jose";
import type { ProductData } from "../delivery/wire.ts";
import type { Authenticator } from "./authenticator.ts";
import { type CredentialRequest, type PinRequest, type ResponseKey, sealResponse } from "./exchange-format.ts";
import { generatedPin } from "./generated-pin.ts";
import { newKey, publicHalf } from "./keyring.ts";

/** The decrypted requests for one physical key. */
export interface KeyOrder {
  readonly productId: number;
  readonly pin?: PinRequest;
  readonly credentials: readonly CredentialRequest[];
}

export interface ProgrammedKey {
  readonly serial: string;
  readonly pin?: string;
  readonly credentialIds: readonly string[];
  /** The key in the response of the service, with encrypted responses. */
  readonly data: ProductData;
}

/** A kind of wrong response, which a reader must refuse. */
export type WrongAnswer = "wrong-signature" | "wrong-key" | "other-request";

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
  const fido_credential_responses = await Promise.all(
    made.map(({ response_key, credential: { id, ...response } }) =>
      seal(response_key, { v: 1, type: "credential_response", id, response, client_extension_results: {} }),
    ),
  );
  const key = { serial: maker.serial, credentialIds: made.map(({ credential }) => credential.id) };
  const data = { serial_number: maker.serial, firmware_version: FIRMWARE, fido_credential_responses };
  if (order.pin === undefined) return { ...key, data };
  const pin = maker.pin ?? generatedPin(Math.max(order.pin.pin.length, minimumPinLength(order.productId)));
  const fido_pin_response = await seal(order.pin.response_key, { v: 1, type: "pin_response", pin });
  return { ...key, pin, data: { ...data, fido_pin_response } };
}

/** Wrong keys have the `kid` of the right key, so that only the cryptography shows the difference. */
const sealer = (signKey: JWK, wrong?: WrongAnswer) => async (to: ResponseKey, payload: Record<string, unknown>) =>
  sealResponse(payload, {
    signKey: wrong === "wrong-signature" ? { ...(await newKey("ES384", "sig")), ...named(signKey) } : signKey,
    recipient: wrong === "wrong-key" ? { ...publicHalf(await newKey("ECDH-ES+A256KW", "enc")), ...named(to) } : to,
  });

const named = ({ kid }: JWK): JWK => (kid === undefined ? {} : { kid });
