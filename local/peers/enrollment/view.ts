import type { KeyMaker } from "../security-key/key-maker.ts";
import { signingKey } from "../security-key/keyring.ts";
import { programKey } from "../security-key/program.ts";
import { sabotaged } from "../security-key/sabotage.ts";
import { type AuthenticatorRequest, stateOf } from "./requests.ts";

/** Returns an authenticator request as the API shows it (docs/peers/enrollment.md). */
export async function requestView(request: AuthenticatorRequest, maker: KeyMaker) {
  const { id, end, credentials, pin } = request;
  const shown = { id, state: stateOf(request), error_message: end?.errorMessage };
  if (end?.state !== "completed") return shown;
  const honest = end.responses;
  const [responses = honest] = await sabotaged([honest], request.sabotage, async (_, wrong) => {
    // The content of a wrong response does not matter, because it must be refused unread.
    const order = { productId: 1, credentials, ...(pin && { pin }) };
    const authenticator = maker.authenticators[request.wish.preferred_authenticator_type];
    const by = { authenticator, signKey: signingKey(maker.keyring), serial: "" };
    const { responses: made } = await programKey(order, by, wrong);
    return {
      credentials: honest.credentials.map((response, at) => response && (made.credentials[at] ?? null)),
      pin: wrong === "other-request" ? honest.pin : made.pin,
    };
  });
  return {
    ...shown,
    serial_number: end.serialNumber,
    firmware_version: end.firmwareVersion,
    pin_response: responses.pin,
    credential_responses: responses.credentials,
  };
}
