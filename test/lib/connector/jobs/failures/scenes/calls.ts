import type { AccountStatus } from "../../../../../../local/peers/idp/accounts.ts";
import { usersOf } from "../../../../../support/connector/in-a-state.ts";
import type { Failure, Stage, Step } from "../stage.ts";
import { doneOrNot, notDone, words } from "./failure.ts";

/** Returns what makes the steps of one peer: `read` for its calls that change nothing, `write` for the others. */
function callsOf(peer: string, name: Step["at"]["peer"], words: Parameters<typeof notDone>[0]) {
  const step = (call: string, method: string, path: string, failures: readonly Failure[]): Step => ({
    peer,
    call,
    at: { peer: name, method, path },
    failures,
  });
  return {
    read: (call: string, method: string, path: string) => step(call, method, path, notDone(words)),
    write: (call: string, method: string, path: string) => step(call, method, path, doneOrNot(words)),
  };
}

/** The step with failures that only its peer has. */
export const also = (step: Step, ...more: readonly Failure[]): Step => ({
  ...step,
  failures: [...step.failures, ...more],
});

/** The step with another name, where its failures mean something else. */
export const as = (name: string, step: Step): Step => ({ ...step, call: name });

/** The step where only the n-th call of a piece of work fails, and those after it. */
export const later = (after: number, step: Step): Step => ({ ...step, at: { ...step.at, after } });

const graph = callsOf("Entra ID", "entra", words.graph);
export const entra = {
  token: callsOf("Entra ID", "entra", words.oauth).read("access token", "POST", "/oauth2/"),
  options: graph.read("creation options", "GET", "creationOptions"),
  account: graph.read("account", "GET", "/users/[^/]+$"),
  policy: graph.read("passkey policy", "GET", "/policies/"),
  registration: graph.write("registration", "POST", "/fido2Methods$"),
  registered: graph.read("registered keys", "GET", "/fido2Methods$"),
  removal: graph.write("removal of the key", "DELETE", "/fido2Methods/[^/]+$"),
};

const ping = callsOf("PingOne", "pingone", words.flat);
const device = "/devices/[^/]+$";
export const pingone = {
  user: ping.read("user by name", "GET", "/users$"),
  device: ping.write("new device", "POST", "/devices$"),
  activation: ping.write("activation", "POST", device),
  name: ping.write("name", "PUT", "/nickname$"),
  look: ping.read("look at the device", "GET", device),
  removal: ping.write("removal of the device", "DELETE", device),
};

const am = callsOf("Advanced Identity Cloud", "aic", words.am);
export const aic = {
  user: later(1, am.write("user's step", "POST", "/authenticate$")),
  key: am.write("key's step", "POST", "/authenticate$"),
  devices: am.read("devices of the user", "GET", "/webauthn$"),
  removal: am.write("removal of the device", "DELETE", "/webauthn/[^/]+$"),
};

const shipping = callsOf("delivery service", "delivery", words.flat);
const one = "/shipments/[^/]+$";
export const delivery = {
  transportKeys: shipping.read("transport keys", "GET", "/transport-keys"),
  order: shipping.write("order", "POST", "/shipments$"),
  shipment: shipping.read("shipment", "GET", one),
  signingKeys: shipping.read("signing keys", "GET", "/sign.jwks"),
  lookUp: shipping.read("look-up by reference", "GET", "/shipments$"),
  deletion: shipping.write("deletion", "DELETE", one),
};

const api = callsOf("pre-registration API", "rfpr", words.flat);
const request = "/authenticator-requests/[^/]+$";
export const enrollment = {
  token: callsOf("enrollment service", "enrollment", words.oauth).read("access token", "POST", "/v1/token$"),
  put: api.write("hand over", "PUT", request),
  read: api.read("read", "GET", request),
  cancel: api.write("cancel", "POST", "/cancel$"),
  removal: api.write("removal", "DELETE", request),
};

const mails = callsOf("mail service", "mail", words.graph);
export const mail = {
  send: mails.write("send", "POST", "/emails:send$"),
  lookUp: mails.read("look-up", "GET", "/emails/operations/"),
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
