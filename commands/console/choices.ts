import countries from "i18n-iso-countries/codes.json" with { type: "json" };
import { requestStates } from "../../lib/connector/model/states.ts";
import { AUTHENTICATOR_KINDS, DELIVERY_METHODS, ENTRY_METHODS } from "../../local/peers/enrollment/wire.ts";

/** The values that the fields of an order and of lists offer, from the code that accepts them. */
export const choices = {
  requestStates,
  authenticatorKinds: AUTHENTICATOR_KINDS,
  entryMethods: ENTRY_METHODS,
  deliveryMethods: DELIVERY_METHODS,
  countries: countries.map(([alpha2]) => alpha2),
};
