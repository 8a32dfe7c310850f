import { omitUndefined } from "../../../platform/omit-undefined.ts";
import type { DraftLocation, PartialDraft } from "../../create/draft.ts";
import { authenticatorKeyId, itemIndex, shipmentKeyId } from "../../model/security-key.ts";
import { defaultPinLength, nonEmptyLine, pinLength, requestLimits } from "../field-rules.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns what can be read of a version 2 create body that does not fit its schema, so that all its problems are
 * reported at once (decision C1). Leaves out every value that the schema refuses, and a list over its limit as a whole.
 */
export function partialDraftV2(body: unknown): PartialDraft {
  const { shipment, authenticators, enrollment_contacts } = fieldsOf(body);
  const keys = [
    ...listOf(fieldsOf(shipment).shipment_items, requestLimits.keys).map((item, index) => ({
      id: shipmentKeyId(index),
      provisioning: "shipped" as const,
      ...pinOf(fieldsOf(item).pin_request, "length"),
      credentials: credentialsOf(item),
    })),
    ...listOf(authenticators, requestLimits.keys).map((authenticator, index) => ({
      id: authenticatorKeyId(index),
      provisioning: "on_site" as const,
      ...pinOf(fieldsOf(authenticator).pin_request, "min_length"),
      credentials: credentialsOf(authenticator),
    })),
  ];
  return {
    emailsTo: listOf(fieldsOf(enrollment_contacts).emails_to, requestLimits.emailsTo).map(textOf),
    pathOf: location => pathInV2(location, keys),
    keys,
  };
}

const credentialFields = { idp: "idp_id", relyingParty: "relying_party_id", user: "user_id" };

/** Returns the path of a field as the caller wrote it. */
export function pathInV2(location: DraftLocation, keys: PartialDraft["keys"]): string {
  if (location.field === "emailTo") return `enrollment_contacts.emails_to[${location.index}]`;
  if (location.field === "authenticators") return "authenticators";
  const ofShipment = keys.find(({ id }) => id === location.keyId)?.provisioning === "shipped";
  const list = ofShipment ? "shipment.shipment_items" : "authenticators";
  const key = `${list}[${itemIndex(location.keyId)}]`;
  if (location.field === "pinLength") return `${key}.pin_request.${ofShipment ? "length" : "min_length"}`;
  return `${key}.credentials[${location.index}].${credentialFields[location.field]}`;
}

/** Created once: a schema costs more than its use, and a body can have 2,000 credentials. */
const idpIdField = nonEmptyLine(64).nullish();
const relyingPartyIdField = nonEmptyLine().nullish();
const pinLengthField = pinLength().nullish();

const credentialsOf = (key: unknown) =>
  listOf(fieldsOf(key).credentials, requestLimits.credentialsPerKey).map(credential => {
    const { idp_id, relying_party_id } = fieldsOf(credential);
    const idpId = idpIdField.safeParse(idp_id);
    // Without a valid IdP there is nothing with which to compare the relying party.
    if (!idpId.success) return {};
    const relyingPartyId = relyingPartyIdField.safeParse(relying_party_id).data;
    return omitUndefined({ idpId: idpId.data ?? undefined, relyingPartyId: relyingPartyId ?? undefined });
  });

function pinOf(pinRequest: unknown, field: string) {
  const { success, data } = pinLengthField.safeParse(fieldsOf(pinRequest)[field]);
  return success && pinRequest ? { pinRequest: { length: data ?? defaultPinLength } } : {};
}

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const listOf = (value: unknown, most: number): readonly unknown[] =>
  Array.isArray(value) && value.length <= most ? value : [];
const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");
