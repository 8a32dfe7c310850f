import type { CredentialRequestOrder } from "../../docs/openapi/connector.ts";

/** The cells of a line by the names of their columns, trimmed, without those that are empty. */
export type Cells = Readonly<Record<string, string>>;

/** The columns of a file of orders, with the fields of the API that they become. */
const columns: Readonly<Record<string, string>> = {
  id: "",
  email: "recipient.email",
  first_name: "recipient.first_name",
  last_name: "recipient.last_name",
  company: "recipient.company",
  telephone: "recipient.telephone",
  external_id: "recipient.external_id",
  pin_emails: "enrollment_contacts.emails_to",
  street_line1: "shipment.mailing_address.street_line1",
  street_line2: "shipment.mailing_address.street_line2",
  postal_code: "shipment.mailing_address.postal_code",
  city: "shipment.mailing_address.city",
  region: "shipment.mailing_address.region",
  country_code: "shipment.mailing_address.country_code",
  delivery_type: "shipment.delivery_type",
  customer_reference: "shipment.customer_reference",
  reseller_organization_id: "shipment.reseller_organization_id",
  keys: "shipment.shipment_items",
  product_id: "shipment.shipment_items.product_id",
  inventory_product_id: "shipment.shipment_items.inventory_product_id",
  customization_id: "shipment.shipment_items.customization_id",
  key_name: "shipment.shipment_items.name",
  pin_length: "shipment.shipment_items.pin_request.length",
  credentials: "shipment.shipment_items.credentials",
};

export const columnNames: readonly string[] = Object.keys(columns);

/** Columns without which no line can be an order. */
export const neededColumns = [
  ...["email", "telephone", "street_line1", "postal_code", "city", "country_code"],
  ...["product_id", "inventory_product_id", "credentials"],
] as const;

const maxKeys = 50;

/** Returns the number of keys of a line; undefined if the text is none. */
const countOf = (text = "1"): number | undefined =>
  /^\d{1,2}$/.test(text) && Number(text) >= 1 && Number(text) <= maxKeys ? Number(text) : undefined;

/** Returns what of a line no call could say, as sentences that begin with the column. */
export const problemsOf = ({ keys }: Cells): readonly string[] =>
  countOf(keys) === undefined ? [`keys must be a number from 1 to ${maxKeys}`] : [];

/** Returns the order of a line. The connector checks its fields. */
export function orderOf(cells: Cells): CredentialRequestOrder {
  const { email = "", first_name = "", last_name = "", pin_emails, pin_length, keys, credentials = "" } = cells;
  const given = (...names: readonly string[]) =>
    Object.fromEntries(names.flatMap(name => (cells[name] === undefined ? [] : [[name, cells[name]]])));
  const item = {
    ...given("product_id", "inventory_product_id", "customization_id"),
    ...(cells.key_name !== undefined && { name: cells.key_name }),
    ...(pin_length !== undefined && { pin_request: { length: numberOf(pin_length) } }),
    credentials: listOf(credentials).map(credentialOf),
  };
  const order = {
    recipient: { email, first_name, last_name, ...given("company", "telephone", "external_id") },
    enrollment_contacts: { emails_to: listOf(pin_emails ?? email) },
    shipment: {
      ...given("customer_reference", "reseller_organization_id"),
      ...(cells.delivery_type !== undefined && { delivery_type: numberOf(cells.delivery_type) }),
      mailing_address: given("street_line1", "street_line2", "postal_code", "city", "region", "country_code"),
      shipment_items: Array.from({ length: countOf(keys) ?? 0 }, () => item),
    },
  };
  return order as CredentialRequestOrder;
}

const listOf = (text: string): string[] =>
  text
    .split(";")
    .map(each => each.trim())
    .filter(each => each !== "");

/** Returns the number, or a text that is none: the connector refuses it with its reason. */
const numberOf = (text: string): unknown => (/^\d{1,4}$/.test(text) ? Number(text) : text);

/** Parses `entra=jane@example.com`; a user without an IdP belongs to the default IdP. */
function credentialOf(text: string): { readonly idp_id?: string; readonly user_id: string } {
  const [, idp, user = text] = /^([A-Za-z0-9-]+)=(.+)$/.exec(text) ?? [];
  return { ...(idp !== undefined && { idp_id: idp }), user_id: user };
}

const byLength = Object.entries(columns).sort(([, one], [, other]) => other.length - one.length);

/** Returns a problem that the connector names by the path of a field, as a sentence that begins with the column. */
export function problemByColumn({ path, reason }: { readonly path: string; readonly reason: string }): string {
  const plain = path.replace(/\[\d+\]/g, "");
  const [column, field] =
    byLength.find(([, own]) => own !== "" && (plain === own || plain.startsWith(`${own}.`))) ?? [];
  if (column === undefined || field === undefined) return `${path} ${reason}`;
  const [, position] = /(?:emails_to|credentials)\[(\d+)\]/.exec(path) ?? [];
  const rest = plain.slice(field.length + 1);
  return [column, position !== undefined && `(${Number(position) + 1})`, rest, reason].filter(Boolean).join(" ");
}
