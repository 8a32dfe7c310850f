import countries from "i18n-iso-countries/codes.json" with { type: "json" };
import { authenticatorTypes, pinDeliveryMethods, pinEntryMethods } from "../../lib/connector/model/security-key.ts";
import { requestStates, shownCredentialStates } from "../../lib/connector/model/states.ts";

/** The values that the fields of an order and of lists offer, from the code that accepts them. */
export const choices = {
  requestStates,
  registerStates: shownCredentialStates,
  authenticatorKinds: authenticatorTypes,
  entryMethods: pinEntryMethods,
  deliveryMethods: pinDeliveryMethods,
  countries: countries.map(([alpha2]) => alpha2),
};
