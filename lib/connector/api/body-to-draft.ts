import type { DraftLocation, RequestDraft } from "../create/draft.ts";
import type { Idps } from "../idp/contract.ts";
import { authenticatorKeyId, itemIndex, shipmentKeyId } from "../model/security-key.ts";
import { type BodyV2, bodyV2 } from "./create-body.ts";

/** Returns the draft of a body by the names of version 2 (decision C4). */
export function draftOf(body: BodyV2, { origin, pathOf }: Pick<RequestDraft, "origin" | "pathOf">): RequestDraft {
  const { recipient, enrollmentContacts, shipment, authenticators = [], replaces } = toCamelCase(body);
  const { shipmentItems: items = [], ...order } = shipment ?? {};
  return {
    origin,
    pathOf,
    recipient: { company: "", externalId: recipient.email, ...recipient },
    emailsTo: enrollmentContacts.emailsTo,
    ...(shipment && { shipment: order as Omit<typeof shipment, "shipmentItems"> }),
    keys: [
      // The key maker generates the PIN of a shipped key, which is mailed (specification section 2).
      ...items.map(({ pinRequest: pin, ...key }, index) => ({
        ...key,
        id: shipmentKeyId(index),
        provisioning: "shipped" as const,
        productId: Number(key.productId),
        inventoryProductId: Number(key.inventoryProductId),
        ...(pin && { pinRequest: { length: pin.length, entryMethod: "generated", deliveryMethod: "email" } as const }),
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
}

type CamelName<S> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelName<Tail>>}` : S;

/** A value of an API in the names of the model. An absent field is left out. */
type Camel<T> = T extends readonly (infer E)[]
  ? readonly Camel<E>[]
  : T extends object
    ? { readonly [K in keyof T as CamelName<K>]: Camel<Exclude<T[K], undefined>> }
    : T;

/** Returns a value of an API, whose fields are `snake_case`, in the names of the model: `camelCase`, at every level. */
const toCamelCase = <T>(value: T): Camel<T> => renamed(value) as Camel<T>;

function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== "object" || value === null) return value;
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value))
    if (field !== undefined)
      fields[name.replace(/_([a-z0-9])/g, (_, first: string) => first.toUpperCase())] = renamed(field);
  return fields;
}

/** The body of a version 2 create. Parses to a draft, and to the body with the defaults of its fields. */
export const createBodyV2 = bodyV2
  .transform(body => ({ ...draftOf(body, { origin: "v2", pathOf: pathV2 }), body }))
  .meta({
    id: "CredentialRequestOrder",
    description: "A request for credentials on keys that are shipped, programmed on site, or both.",
  });

const credentialFields = { idp: "idp_id", relyingParty: "relying_party_id", user: "user_id" };

/** Returns the path of a field as the caller wrote it. */
function pathV2(location: DraftLocation): string {
  if (location.field === "emailTo") return `enrollment_contacts.emails_to[${location.index}]`;
  if (location.field === "authenticators") return "authenticators";
  const isShipped = location.keyId.startsWith("s-");
  const key = `${isShipped ? "shipment.shipment_items" : "authenticators"}[${itemIndex(location.keyId)}]`;
  if (location.field === "pinLength") return `${key}.pin_request.${isShipped ? "length" : "min_length"}`;
  return `${key}.credentials[${location.index}].${credentialFields[location.field]}`;
}

/** Returns a create body that orders the same as the one that was sent, with every default. */
export function withDefaults({ recipient, shipment, authenticators, ...body }: BodyV2, idps: Idps): BodyV2 {
  type Key = NonNullable<BodyV2["authenticators"]>[number];
  const named = <K extends Pick<Key, "credentials">>(key: K): K => ({
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
