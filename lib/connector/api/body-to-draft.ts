import { omitUndefined } from "../../platform/collections.ts";
import type { DraftLocation, PartialDraft, RequestDraft } from "../create/draft.ts";
import type { Idps } from "../idp/contract.ts";
import type { ShipmentOrder } from "../model/request.ts";
import { authenticatorKeyId, itemIndex, shipmentKeyId } from "../model/security-key.ts";
import { mailingAddressOf } from "./address.ts";
import { type BodyV2, bodyV2 } from "./create-body.ts";
import { defaultPinLength, nonEmptyLine, pinLength, requestLimits } from "./field-rules.ts";

type Shipment = NonNullable<BodyV2["shipment"]>;
type ShipmentItem = Shipment["shipment_items"][number];
type Authenticator = NonNullable<BodyV2["authenticators"]>[number];

type KeyDraft = RequestDraft["keys"][number];
type Parsed = RequestDraft & { readonly body: BodyV2 };

/** The body of a version 2 create. Parses to a draft (decision C4), and to the body with the defaults of its fields. */
export const createBodyV2 = bodyV2
  .transform(({ recipient, enrollment_contacts, shipment, authenticators, replaces }): Parsed => {
    const keys = [
      ...(shipment?.shipment_items ?? []).map(shipmentKey),
      ...(authenticators ?? []).map(authenticatorKey),
    ];
    return omitUndefined({
      origin: "v2" as const,
      pathOf: (location: DraftLocation) => pathInV2(location, keys),
      body: { recipient, enrollment_contacts, shipment, authenticators, replaces },
      recipient: {
        email: recipient.email,
        firstName: recipient.first_name,
        lastName: recipient.last_name,
        company: recipient.company ?? "",
        telephone: recipient.telephone,
        externalId: recipient.external_id ?? recipient.email,
      },
      emailsTo: enrollment_contacts.emails_to,
      shipment: shipment && shipmentOrder(shipment),
      keys,
      replaces: replaces && {
        requestId: replaces.credential_request_id,
        keyId: replaces.key_id,
        reason: replaces.reason,
        revoke: replaces.revoke,
      },
    });
  })
  .meta({
    id: "CredentialRequestOrder",
    description: "A request for credentials on keys that are shipped, programmed on site, or both.",
  });

/** Returns a create body that orders the same as the one that was sent, with every default. */
export function withDefaults({ recipient, shipment, authenticators, ...body }: BodyV2, idps: Idps): BodyV2 {
  const named = <K extends Pick<Authenticator, "credentials">>(key: K): K => ({
    ...key,
    credentials: key.credentials.map(({ idp_id = idps.defaultId, ...credential }) => ({
      ...credential,
      idp_id,
      relying_party_id: idps.get(idp_id)?.defaultRelyingPartyId,
    })),
  });
  return {
    ...body,
    recipient: { ...recipient, external_id: recipient.external_id ?? recipient.email },
    shipment: shipment && { ...shipment, shipment_items: shipment.shipment_items.map(named) },
    authenticators: authenticators?.map(named),
  };
}

function shipmentOrder(shipment: Shipment): ShipmentOrder {
  return omitUndefined({
    deliveryType: shipment.delivery_type,
    resellerOrganizationId: shipment.reseller_organization_id,
    customerReference: shipment.customer_reference,
    addressValidationBypass: shipment.address_validation_bypass,
    mailingAddress: mailingAddressOf(shipment.mailing_address, shipment.mailing_address.country_code),
  });
}

/**
 * Version 2 has no quantities: one item is one security key. The key maker generates its PIN, which is mailed
 * (specification section 2).
 */
function shipmentKey(item: ShipmentItem, index: number): KeyDraft {
  return omitUndefined({
    id: shipmentKeyId(index),
    provisioning: "shipped" as const,
    name: item.name,
    customizationId: item.customization_id,
    productId: Number(item.product_id),
    inventoryProductId: Number(item.inventory_product_id),
    pinRequest: item.pin_request && {
      length: item.pin_request.length,
      entryMethod: "generated" as const,
      deliveryMethod: "email" as const,
    },
    credentials: item.credentials.map(newCredential),
  });
}

function authenticatorKey(authenticator: Authenticator, index: number): KeyDraft {
  return omitUndefined({
    id: authenticatorKeyId(index),
    provisioning: "on_site" as const,
    name: authenticator.name,
    customizationId: authenticator.customization_id,
    preferredAuthenticatorType: authenticator.preferred_authenticator_type,
    pinRequest: authenticator.pin_request && {
      length: authenticator.pin_request.min_length,
      entryMethod: authenticator.pin_request.entry_method,
      deliveryMethod: authenticator.pin_request.delivery_method,
    },
    credentials: authenticator.credentials.map(newCredential),
  });
}

const newCredential = (credential: ShipmentItem["credentials"][number]): KeyDraft["credentials"][number] =>
  omitUndefined({
    idpId: credential.idp_id,
    relyingPartyId: credential.relying_party_id,
    userId: credential.user_id,
  });

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
function pathInV2(location: DraftLocation, keys: PartialDraft["keys"]): string {
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
