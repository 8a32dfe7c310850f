import { randomUUID } from "node:crypto";
import type { Delivery } from "../../../../local/peers/delivery/delivery.ts";
import type { Rfpr } from "../../../../local/peers/enrollment/rfpr.ts";
import { createRequester, type Sent } from "../delivery/requester.ts";

export interface AuthenticatorAnswer {
  readonly id: string;
  readonly state: string;
  readonly serial_number?: string;
  readonly firmware_version?: string;
  readonly pin_response?: string;
  readonly credential_responses?: (string | null)[];
  readonly error_message?: string;
  readonly code?: string;
  readonly message?: string;
}

interface PinWish {
  readonly min_length: number;
  readonly entry_method: "generated" | "user_entered";
  readonly delivery_method: "none" | "app" | "email";
}

/** A request that was put, with what it takes to read the answers. */
export interface Put {
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly credentials: readonly Sent[];
  readonly pin: Sent | undefined;
}

/** A caller of the pre-registration API, written against the documents alone. */
export function createRfprCaller(delivery: Delivery, rfpr: Rfpr, token: () => string) {
  const { credentialRequest, pinRequest } = createRequester(delivery);
  const call = async (method: string, path: string, body?: unknown, bearer = token()) => {
    const response = await fetch(`${rfpr.url}/v1/authenticator-requests/${path}`, {
      method,
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as AuthenticatorAnswer };
  };
  /** A body with `credentials` credential requests, and a PIN request where there has to be one. */
  const draft = async (pinWish?: PinWish, credentials = 1, change: Record<string, unknown> = {}): Promise<Put> => {
    const asked = await Promise.all(Array.from({ length: credentials }, (_, at) => credentialRequest(at)));
    const mailed = pinWish?.entry_method === "generated" && pinWish.delivery_method === "email";
    const pin = mailed ? await pinRequest(pinWish.min_length) : undefined;
    const body = {
      recipient: { external_id: "jan", email: "jan@example.com", first_name: "Jan", last_name: "" },
      emails_to: ["jan@example.com"],
      name: "Jan's Key",
      preferred_authenticator_type: "hardware",
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      ...(pinWish && { pin: pinWish }),
      ...(pin && { pin_request: pin.jwe }),
      credential_requests: asked.map(({ jwe }) => jwe),
      ...change,
    };
    return { id: randomUUID(), body, credentials: asked, pin };
  };
  return {
    call,
    draft,
    pinRequest,
    put: async (pinWish?: PinWish, credentials = 1, change: Record<string, unknown> = {}): Promise<Put> => {
      const drafted = await draft(pinWish, credentials, change);
      const { status, body } = await call("PUT", drafted.id, drafted.body);
      if (status !== 201) throw new Error(`put answered ${status}: ${body.message}`);
      return drafted;
    },
    read: async (id: string) => (await call("GET", id)).body,
    control: (path: string, body: unknown = {}) =>
      fetch(`${rfpr.url}/_control/${path}`, { method: "POST", body: JSON.stringify(body) }),
  };
}
