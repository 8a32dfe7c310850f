import type * as z from "zod";
import { omitUndefined } from "../../platform/omit-undefined.ts";
import type { ShipmentOrder } from "../model/request.ts";
import { normalRegion, regionProblem } from "./regions.ts";
import { nonEmptyLine, optionalLine, postalCode } from "./text-rules.ts";

/** Returns the fields of a mailing address that have the same name in both versions; that of the country differs (specification section 2). */
export const addressFields = () => ({
  street_line1: nonEmptyLine().describe("Street and number."),
  street_line2: optionalLine().describe("Further line of the street address."),
  postal_code: postalCode().describe("A space, or 00000, where the country has no postal codes."),
  city: nonEmptyLine().describe("City."),
  region: optionalLine(50).describe(
    "Two-letter postal code of the region. Required in the US, at US military bases and in Canada.",
  ),
});

/** Returns a check of the region for the country in the named field (C5). Used with `evenIfInvalid`. */
export const regionByCountry =
  (country: string) =>
  (address: Readonly<Record<string, unknown>>, context: z.core.$RefinementCtx): void => {
    const message = regionProblem(address[country], address.region);
    if (message !== undefined) context.addIssue({ code: "custom", path: ["region"], message });
  };

/** A parsed address of either version, and its country. */
export const mailingAddressOf = (
  address: z.output<z.ZodObject<ReturnType<typeof addressFields>>>,
  countryCode: string,
): ShipmentOrder["mailingAddress"] =>
  omitUndefined({
    streetLine1: address.street_line1,
    streetLine2: address.street_line2,
    postalCode: address.postal_code,
    city: address.city,
    region: address.region && normalRegion(countryCode, address.region),
    countryCode,
  });
