/**
 * Why a response could not be read:
 * - `undecryptable`: not encrypted to this key
 * - `unknown_key`: signed by a key that the signing JWKS does not hold, or not yet
 * - `bad_signature`
 * - `malformed`: no such envelope or payload, or a header that is not allowed
 */
export type ExchangeReason = "undecryptable" | "unknown_key" | "bad_signature" | "malformed";

/** A response that is not to be believed. Its message holds nothing of the response. */
export class ExchangeError extends Error {
  override readonly name = "ExchangeError";
  readonly reason: ExchangeReason;

  constructor(reason: ExchangeReason) {
    super(`Exchange format: ${reason}`);
    this.reason = reason;
  }
}
