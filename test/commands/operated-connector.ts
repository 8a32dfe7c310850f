import { expect } from "vitest";
import { days } from "../../lib/platform/time.ts";
import { sampleRequest } from "../../local/start/sample-request.ts";
import type { AuthHost } from "../support/auth/host.ts";

/** Creates a static API token of a role as the tenant's administrator does. @param url of the API */
export async function tokenOf({ tenantToken }: AuthHost, url: string, role: string): Promise<string> {
  const response = await fetch(`${url}/api-tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenantToken}`, "content-type": "application/json" },
    body: JSON.stringify({ name: role, role }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { readonly token: string }).token;
}

/** Creates a user with an OTP key, and has a sign-in with the right password and a wrong OTP refused. */
export async function userWithRefusedOtp({ core, clientUrl }: AuthHost, username: string, prefix: string) {
  const password = "seven red herons";
  await core("POST", "/users", { username, password });
  await core("POST", "/otpkeys", { prefix, kind: "hotp", secret: "cd".repeat(20), digits: 6 });
  await core("POST", `/users/${encodeURIComponent(username)}/otpkeys`, { otpkey: prefix });
  const body = new URLSearchParams({ username, password, otp: `${prefix}000000` });
  expect((await fetch(`${clientUrl}/login`, { method: "POST", body })).status).toBe(401);
}

/** The connector of a host, as tests of the commands for operators prepare it. */
export function operatedConnector(auth: AuthHost) {
  // Shipments leave when a test says so, however slow the machine is.
  auth.peers.delivery.settings({ shipAfterMs: days(1) });
  const callConnector = async (method: string, path: string, body?: object) => {
    const response = await fetch(auth.connectorUrl + path, {
      method,
      headers: { authorization: `Bearer ${auth.otherToken}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(response.ok, path).toBe(true);
    return JSON.parse((await response.text()) || "{}") as { readonly data: { readonly [field: string]: string } };
  };
  /** Orders keys, each with these credentials, and ships them. Returns the id of the request, whose activations are due. */
  const producedRequest = async (keys: readonly (readonly object[])[]): Promise<string> => {
    const { shipment, ...rest } = sampleRequest;
    const shipment_items = keys.map(credentials => ({ ...shipment.shipment_items[0], credentials }));
    const { data } = await callConnector("POST", "/v2/credential-requests", {
      ...rest,
      shipment: { ...shipment, shipment_items },
    });
    await auth.peers.delivery.control(data.shipment_id ?? "", { ship: true });
    await callConnector("GET", "/v2/operations/process-shipments");
    return data.credential_request_id ?? "";
  };
  const activate = () => callConnector("POST", "/v2/operations/process-credential-requests");
  return {
    callConnector,
    /** Orders keys, each with credentials for these users, and waits until they are active. Returns the id of the request. */
    activeRequest: async (...keys: readonly (readonly string[])[]): Promise<string> => {
      const id = await producedRequest(keys.map(users => users.map(user_id => ({ user_id }))));
      await activate();
      return id;
    },
    /**
     * Orders a key at AIC, which registers each of its credentials without an answer, and then refuses it. Returns the id
     * of the request, whose credentials may be registered.
     */
    requestInDoubt: async (...users: readonly string[]): Promise<string> => {
      const id = await producedRequest([users.map(user_id => ({ user_id, idp_id: "aic" }))]);
      const path = "/authenticate$";
      auth.peers.aic.fail({ kind: "drop", phase: "after", method: "POST", path, times: users.length });
      await activate();
      await activate();
      return id;
    },
  };
}
