import type { DraftLocation, RequestDraft } from "../create/draft.ts";
import type { Idps } from "../idp/contract.ts";
import { authenticatorKeyId, itemIndex, shipmentKeyId } from "../model/security-key.ts";
import { type BodyV2, bodyV2 } from "./create-body.ts";
import { toCamelCase } from "./to-camel-case.ts";

/** The body of a version 2 create. Parses to a draft (decision C4), and to the body with the defaults of its fields. */
export const createBodyV2 = bodyV2
  .transform((body): RequestDraft & { readonly body: BodyV2 } => {
    const { recipient, enrollmentContacts, shipment, authenticators = [], replaces } = toCamelCase(body);
    return {
      origin: "v2",
      body,
      pathOf,
      recipient: { company: "", externalId: recipient.email, ...recipient },
      emailsTo: enrollmentContacts.emailsTo,
      ...(shipment && { shipment: withoutItems(shipment) }),
      keys: [
        // Version 2 has no quantities: one item is one security key. The key maker generates its PIN, which is mailed
        // (specification section 2).
        ...(shipment?.shipmentItems ?? []).map(({ productId, inventoryProductId, pinRequest: pin, ...key }, index) => ({
          ...key,
          id: shipmentKeyId(index),
          provisioning: "shipped" as const,
          productId: Number(productId),
          inventoryProductId: Number(inventoryProductId),
          ...(pin && {
            pinRequest: { length: pin.length, entryMethod: "generated", deliveryMethod: "email" } as const,
          }),
        })),
        ...authenticators.map(({ pinRequest: pin, ...key }, index) => ({
          ...key,
          id: authenticatorKeyId(index),
          provisioning: "on_site" as const,
          ...(pin && {
            pinRequest: { length: pin.minLength, entryMethod: pin.entryMethod, deliveryMethod: pin.deliveryMethod },
          }),
        })),
      ],
      ...(replaces && {
        replaces: {
          requestId: replaces.credentialRequestId,
          keyId: replaces.keyId,
          reason: replaces.reason,
          revoke: replaces.revoke,
        },
      }),
    };
  })
  .meta({
    id: "CredentialRequestOrder",
    description: "A request for credentials on keys that are shipped, programmed on site, or both.",
  });

const withoutItems = <T extends { readonly shipmentItems: unknown }>({ shipmentItems: _, ...order }: T) => order;

const credentialFields = { idp: "idp_id", relyingParty: "relying_party_id", user: "user_id" };

/** Returns the path of a field as the caller wrote it. */
function pathOf(location: DraftLocation): string {
  if (location.field === "emailTo") return `enrollment_contacts.emails_to[${location.index}]`;
  if (location.field === "authenticators") return "authenticators";
  const isShipped = location.keyId.startsWith("s-");
  const key = `${isShipped ? "shipment.shipment_items" : "authenticators"}[${itemIndex(location.keyId)}]`;
  if (location.field === "pinLength") return `${key}.pin_request.${isShipped ? "length" : "min_length"}`;
  return `${key}.credentials[${location.index}].${credentialFields[location.field]}`;
}

/** Returns a create body that orders the same as the one that was sent, with every default. */
export function withDefaults({ recipient, shipment, authenticators, ...body }: BodyV2, idps: Idps): BodyV2 {
  type Order = NonNullable<BodyV2["authenticators"]>[number];
  const named = <K extends Pick<Order, "credentials">>(key: K): K => ({
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
