import { card } from "./dom.js";
import { field } from "./form.js";

/**
 * A field that writes through to a property. An optional one that is emptied leaves the property out.
 * @param {any} owner
 * @param {string} name
 * @param {string} label
 * @param {() => void} write
 * @param {import("./form.js").FieldOptions & { optional?: boolean, number?: boolean }} [options]
 */
export const bound = (owner, name, label, write, { optional = false, number = false, ...options } = {}) =>
  field("", label, {
    value: owner[name] ?? "",
    ...options,
    oninput: value => {
      if (optional && value === "") delete owner[name];
      else owner[name] = number && value !== "" ? Number(value) : value;
      write();
    },
  });

/**
 * @param {any} body
 * @param {() => void} write
 */
export const recipientFields = (body, write) =>
  card(
    "Recipient",
    bound(body.recipient, "first_name", "First name", write),
    bound(body.recipient, "last_name", "Last name", write),
    bound(body.recipient, "company", "Company", write, { optional: true }),
    bound(body.recipient, "email", "Email", write, { hint: "Delivery notices go here." }),
    bound(body.recipient, "telephone", "Telephone", write),
    field("", "PIN mails go to", {
      value: body.enrollment_contacts.emails_to.join(", "),
      hint: "Several addresses are parted by commas.",
      oninput: value => {
        body.enrollment_contacts.emails_to = value.split(",").map(each => each.trim());
        write();
      },
    }),
  );

/**
 * None where nothing is shipped.
 * @param {any} body
 * @param {() => void} write
 */
export function addressFields({ shipment }, write) {
  if (shipment === undefined) return [];
  const address = shipment.mailing_address;
  return [
    card(
      "Address",
      bound(address, "street_line1", "Street", write),
      bound(address, "street_line2", "Street, second line", write, { optional: true }),
      bound(address, "postal_code", "Postal code", write),
      bound(address, "city", "City", write),
      bound(address, "region", "Region", write, {
        optional: true,
        hint: "Two letters; asked for in the US and Canada.",
      }),
      bound(address, "country_code", "Country", write, { hint: "Two letters." }),
      bound(shipment, "customer_reference", "Your reference", write, { optional: true }),
    ),
  ];
}
