import type { Failure, Scene } from "../stage.ts";
import { create } from "./acts.ts";
import { mixed, onSite, shipped } from "./bodies.ts";
import { aic, also, delivery, enrollment, entra, pingone, refusing } from "./calls.ts";

/** Answered as throttling is, yet it does not pass. */
const deviceCap: Failure = {
  name: "429, too many devices",
  by: {
    begin: ({ peers }) => peers.pingone.settings({ maxDevices: 0 }),
    end: ({ peers }) => peers.pingone.settings({ maxDevices: 5 }),
  },
};

const policyOff: Failure = {
  name: "self-service set-up off",
  by: {
    begin: ({ peers }) => peers.entra.settings({ policy: { isSelfServiceRegistrationAllowed: false } }),
    end: ({ peers }) => peers.entra.settings({ policy: {} }),
  },
};

const noKeys: Failure = { name: "no key of its use", by: { kind: "refuse", status: 200, body: { keys: [] } } };

const options = "Creation options";
export const createScenes: readonly Scene[] = [
  {
    title: options,
    body: shipped("entra"),
    act: create,
    steps: [
      entra.token,
      also(entra.options, ...(["unknown", "blocked", "forbidden"] as const).map(how => refusing("entra", how))),
      also(entra.account, refusing("entra", "guest"), refusing("entra", "disabled")),
      also(entra.policy, policyOff),
    ],
  },
  {
    title: options,
    body: shipped("pingone"),
    act: create,
    steps: [
      also(pingone.user, ...(["unknown", "disabled", "without_mfa"] as const).map(how => refusing("pingone", how))),
      also(pingone.device, refusing("pingone", "blocked"), refusing("pingone", "forbidden"), deviceCap),
    ],
  },
  {
    title: options,
    body: shipped("aic"),
    act: create,
    steps: [also(aic.user, refusing("aic", "unknown"))],
  },
  {
    title: "Hand-over of authenticators",
    body: onSite(),
    act: create,
    steps: [enrollment.token, enrollment.put],
  },
  {
    title: "Order of a shipment",
    body: shipped(),
    act: create,
    steps: [also(delivery.transportKeys, noKeys), delivery.order],
  },
  {
    title: "Compensation after the delivery service refused",
    body: mixed("pingone"),
    before: async ({ peers }) => {
      const body = { code: "validation_error", message: "The address is not known." };
      peers.delivery.fail({ kind: "refuse", status: 400, method: "POST", body });
    },
    act: create,
    steps: [pingone.look, pingone.removal, enrollment.removal],
  },
];
