import type { KeyMaker } from "../security-key/key-maker.ts";
import { signingKey } from "../security-key/keyring.ts";
import { programKey } from "../security-key/program.ts";
import { type AuthenticatorRequest, type End, stateOf } from "./requests.ts";

type Completed = Extract<End, { state: "completed" }>;

/** Returns an authenticator request as the API shows it (docs/peers/enrollment.md). */
export async function requestView(request: AuthenticatorRequest, maker: KeyMaker) {
  const { id, end } = request;
  const shown = { id, state: stateOf(request), error_message: end?.errorMessage };
  if (end?.state !== "completed") return shown;
  const { pinResponse, credentialResponses, serialNumber, firmwareVersion } = await answersOf(request, end, maker);
  return {
    ...shown,
    serial_number: serialNumber,
    firmware_version: firmwareVersion,
    pin_response: pinResponse,
    credential_responses: credentialResponses,
  };
}

async function answersOf(request: AuthenticatorRequest, end: Completed, maker: KeyMaker): Promise<Completed> {
  const { sabotage } = request;
  switch (sabotage) {
    case undefined:
      return end;
    case "garbage":
      return replaced(end, () => "garbage", end.pinResponse && "garbage");
    case "swapped": {
      const [first = null, ...others] = end.credentialResponses;
      const turned = [...others, first];
      return replaced(end, at => turned[at] ?? null, end.pinResponse);
    }
    default: {
      // The content of a wrong response does not matter, because it must be refused unread.
      const order = { productId: 1, credentials: request.credentials, ...(request.pin && { pin: request.pin }) };
      const authenticator = maker.authenticators[request.wish.preferred_authenticator_type];
      const by = { authenticator, signKey: signingKey(maker.keyring), serial: "" };
      const { data } = await programKey(order, by, sabotage);
      const pin = sabotage === "other-request" ? end.pinResponse : data.fido_pin_response;
      return replaced(end, at => data.fido_credential_responses[at] ?? null, pin);
    }
  }
}

/** A credential that could not be created has no response. */
const replaced = (
  end: Completed,
  response: (at: number) => string | null,
  pinResponse: string | undefined,
): Completed => ({
  ...end,
  pinResponse,
  credentialResponses: end.credentialResponses.map((honest, at) => (honest === null ? null : response(at))),
});
