import type { AccountStatus } from "../../../../../../local/peers/idp/accounts.ts";
import type { Failure, Stage, Step } from "../stage.ts";
import { usersOf } from "./bodies.ts";
import { compensating, doneOrNot, words } from "./failure.ts";

const call = (peer: string, name: string, at: Step["at"], failures: readonly Failure[]): Step => ({
  peer,
  call: name,
  at,
  failures,
});

/** The step with failures that only its peer has. */
export const also = (step: Step, ...more: readonly Failure[]): Step => ({
  ...step,
  failures: [...step.failures, ...more],
});

/** The step with one failure of each distinct sort, where the same call fails in every way in another table. */
export const briefly = (step: Step): Step => ({
  ...step,
  failures: step.failures.filter(({ name }) => brief.includes(name)),
});

const brief = ["connection refused", "400", "401", "429, Retry-After 90", "500", "closed", "closed though done"];

/** The step with another name, where its failures mean something else. */
export const as = (name: string, step: Step): Step => ({ ...step, call: name });

/** The step where only the n-th call of a piece of work fails, and those after it. */
export const later = (after: number, step: Step): Step => ({ ...step, at: { ...step.at, after } });

const [graph, ping, am] = ["Entra ID", "PingOne", "Advanced Identity Cloud"];
const device = "/devices/[^/]+$";

export const entra = {
  token: call(graph, "access token", { peer: "entra", method: "POST", path: "/oauth2/" }, compensating(words.oauth)),
  options: call(
    graph,
    "creation options",
    { peer: "entra", method: "GET", path: "creationOptions" },
    compensating(words.graph),
  ),
  account: call(graph, "account", { peer: "entra", method: "GET", path: "/users/[^/]+$" }, compensating(words.graph)),
  policy: call(
    graph,
    "passkey policy",
    { peer: "entra", method: "GET", path: "/policies/" },
    compensating(words.graph),
  ),
  registration: call(
    graph,
    "registration",
    { peer: "entra", method: "POST", path: "/fido2Methods$" },
    doneOrNot(words.graph),
  ),
  registered: call(
    graph,
    "registered keys",
    { peer: "entra", method: "GET", path: "/fido2Methods$" },
    compensating(words.graph),
  ),
  removal: call(
    graph,
    "removal of the key",
    { peer: "entra", method: "DELETE", path: "/fido2Methods/[^/]+$" },
    doneOrNot(words.graph),
  ),
};

export const pingone = {
  token: call(ping, "access token", { peer: "pingone", method: "POST", path: "/as/token$" }, compensating(words.oauth)),
  user: call(ping, "user by name", { peer: "pingone", method: "GET", path: "/users$" }, compensating(words.flat)),
  device: call(ping, "new device", { peer: "pingone", method: "POST", path: "/devices$" }, doneOrNot(words.flat)),
  activation: call(ping, "activation", { peer: "pingone", method: "POST", path: device }, doneOrNot(words.flat)),
  name: call(ping, "name", { peer: "pingone", method: "PUT", path: "/nickname$" }, doneOrNot(words.flat)),
  look: call(ping, "look at the device", { peer: "pingone", method: "GET", path: device }, compensating(words.flat)),
  removal: call(
    ping,
    "removal of the device",
    { peer: "pingone", method: "DELETE", path: device },
    doneOrNot(words.flat),
  ),
};

const journey = { peer: "aic", method: "POST", path: "/authenticate$" } as const;
export const aic = {
  token: call(am, "access token", { peer: "aic", method: "POST", path: "/access_token$" }, compensating(words.oauth)),
  begin: call(am, "begin of the journey", journey, compensating(words.am)),
  user: call(am, "user's step", { ...journey, after: 1 }, doneOrNot(words.am)),
  key: call(am, "key's step", journey, doneOrNot(words.am)),
  devices: call(am, "devices of the user", { peer: "aic", method: "GET", path: "/webauthn$" }, compensating(words.am)),
  removal: call(
    am,
    "removal of the device",
    { peer: "aic", method: "DELETE", path: "/webauthn/[^/]+$" },
    doneOrNot(words.am),
  ),
};

const one = "/shipments/[^/]+$";
const shipping = "delivery service";
export const delivery = {
  transportKeys: call(
    shipping,
    "transport keys",
    { peer: "delivery", method: "GET", path: "/transport-keys" },
    compensating(words.flat),
  ),
  order: call(shipping, "order", { peer: "delivery", method: "POST", path: "/shipments$" }, doneOrNot(words.flat)),
  shipment: call(shipping, "shipment", { peer: "delivery", method: "GET", path: one }, compensating(words.flat)),
  signingKeys: call(
    shipping,
    "signing keys",
    { peer: "delivery", method: "GET", path: "/sign.jwks" },
    compensating(words.flat),
  ),
  lookUp: call(
    shipping,
    "look-up by reference",
    { peer: "delivery", method: "GET", path: "/shipments$" },
    compensating(words.flat),
  ),
  deletion: call(shipping, "deletion", { peer: "delivery", method: "DELETE", path: one }, doneOrNot(words.flat)),
};

const request = "/authenticator-requests/[^/]+$";
const api = "pre-registration API";
export const enrollment = {
  token: call(
    "enrollment service",
    "access token",
    { peer: "enrollment", method: "POST", path: "/v1/token$" },
    compensating(words.oauth),
  ),
  put: call(api, "hand over", { peer: "rfpr", method: "PUT", path: request }, doneOrNot(words.flat)),
  read: call(api, "read", { peer: "rfpr", method: "GET", path: request }, compensating(words.flat)),
  cancel: call(api, "cancel", { peer: "rfpr", method: "POST", path: "/cancel$" }, doneOrNot(words.flat)),
  removal: call(api, "removal", { peer: "rfpr", method: "DELETE", path: request }, doneOrNot(words.flat)),
};

export const mail = {
  send: call("mail service", "send", { peer: "mail", method: "POST", path: "/emails:send$" }, doneOrNot(words.graph)),
  lookUp: call(
    "mail service",
    "look-up",
    { peer: "mail", method: "GET", path: "/emails/operations/" },
    compensating(words.graph),
  ),
};

export const expired = (idp: "entra" | "pingone" | "aic"): Failure => ({
  name: "expired challenge",
  by: { begin: ({ peers }) => peers[idp].expireChallenges() },
});

/** How an IdP may see a user whom it refuses. */
export const refusing = (idp: "entra" | "pingone" | "aic", how: AccountStatus): Failure => ({
  name: `${how} user`,
  by: {
    begin: ({ peers, body }) => {
      for (const user of usersOf(body)) peers[idp].setUser(user, how);
    },
  },
});

const sabotages = ["wrong-signature", "wrong-key", "other-request", "garbage"] as const;

/** What the key maker may answer that a careful reader refuses. */
export const wrongResponses = (
  sabotage: (stage: Stage, how: (typeof sabotages)[number] | null) => unknown,
): readonly Failure[] =>
  sabotages.map(how => ({
    name: how.replaceAll("-", " "),
    by: { begin: stage => sabotage(stage, how), end: stage => sabotage(stage, null) },
  }));

const shipmentIdOf = async ({ connector, requestId }: Stage): Promise<string> =>
  (await connector.requestRow(requestId)).delivery?.shipment?.id ?? "";

export const wrongShipments = wrongResponses(async (stage, sabotage) =>
  stage.peers.delivery.control(await shipmentIdOf(stage), { sabotage }),
);
