import { choices as common } from "../../commands/console/choices.ts";
import { totpAlgorithms } from "../../lib/auth/otpkeys/kinds/contract.ts";
import { AIC_FORMS } from "../peers/aic/callbacks.ts";
import { SHIPMENT_STATES } from "../peers/delivery/wire.ts";
import { faultRule } from "../peers/faults.ts";
import { ACCOUNT_STATUSES } from "../peers/idp/accounts.ts";
import { mailOutcome } from "../peers/mail/message.ts";
import { PING_BYTES } from "../peers/pingone/settings.ts";
import { SABOTAGES } from "../peers/security-key/sabotage.ts";
import { newSoftwareKey } from "./software-keys/software-keys.ts";

/** The values that the page's fields offer, from the code that accepts them. */
export const choices = {
  ...common,
  shipmentStates: SHIPMENT_STATES,
  sabotages: SABOTAGES,
  accountStatuses: ACCOUNT_STATUSES,
  pingBytes: PING_BYTES,
  aicForms: AIC_FORMS,
  mailOutcomes: mailOutcome.shape.status.unwrap().options,
  faultKinds: faultRule.shape.kind.options,
  /** By function name. */
  timers: [
    "processShipments",
    "processCredentialRequests",
    "dataCleanup",
    "sessionCleanup",
    "scheduledAuthBackUp",
    "scheduledConnectorBackUp",
  ],
  softwareKeyKinds: newSoftwareKey.shape.kind.options,
  totpAlgorithms,
};
