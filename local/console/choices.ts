import countries from "i18n-iso-countries/codes.json" with { type: "json" };
import { totpAlgorithms } from "../../lib/auth/otpkeys/kinds/contract.ts";
import { requestStates } from "../../lib/connector/model/states.ts";
import { AIC_FORMS } from "../peers/aic/callbacks.ts";
import { SABOTAGES } from "../peers/delivery/view.ts";
import { SHIPMENT_STATES } from "../peers/delivery/wire.ts";
import { AUTHENTICATOR_KINDS, DELIVERY_METHODS, ENTRY_METHODS } from "../peers/enrollment/wire.ts";
import { faultRule } from "../peers/faults.ts";
import { ACCOUNT_STATUSES } from "../peers/idp/accounts.ts";
import { mailOutcome } from "../peers/mail/message.ts";
import { PING_BYTES } from "../peers/pingone/devices.ts";
import { newSoftwareKey } from "./software-keys/software-keys.ts";

/** The values that the page's fields offer, from the code that accepts them. */
export const choices = {
  shipmentStates: SHIPMENT_STATES,
  sabotages: SABOTAGES,
  accountStatuses: ACCOUNT_STATUSES,
  pingBytes: PING_BYTES,
  aicForms: AIC_FORMS,
  authenticatorKinds: AUTHENTICATOR_KINDS,
  entryMethods: ENTRY_METHODS,
  deliveryMethods: DELIVERY_METHODS,
  mailOutcomes: mailOutcome.shape.status.unwrap().options,
  faultKinds: faultRule.shape.kind.options,
  requestStates,
  /** By function name. */
  timers: [
    "processShipments",
    "processCredentialRequests",
    "dataCleanup",
    "sessionCleanup",
    "scheduledAuthBackUp",
    "scheduledConnectorBackUp",
  ],
  countries: countries.map(([alpha2]) => alpha2),
  softwareKeyKinds: newSoftwareKey.shape.kind.options,
  totpAlgorithms,
};
