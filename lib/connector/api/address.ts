import codes from "i18n-iso-countries/codes.json" with { type: "json" };
import type * as z from "zod";
import { evenIfInvalid, type Fields, nonEmptyLine, optionalLine, postalCode, text } from "./field-rules.ts";

/** ISO 3166-1 alpha-2. XK is in the data set, but ISO has not assigned it. */
const countries: ReadonlySet<string> = new Set(codes.map(([alpha2]) => alpha2 ?? "").filter(code => code !== "XK"));

/** Regions where the delivery service needs one: postal abbreviations of USPS and Canada Post (decision C5). */
const regions: Readonly<Record<string, ReadonlySet<string>>> = {
  US: words(`
    AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA
    RI SC SD TN TX UT VT VA WA WV WI WY
    AS FM GU MH MP PR PW VI
    AA AE AP`),
  CA: words("AB BC MB NB NL NS NT NU ON PE QC SK YT"),
};

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

// Only ASCII letters: upper case of others may be ASCII and would pass for a code ("ß" for "SS").
const twoLetters = /^[A-Za-z]{2}$/;

/** Whether a text is a country code, in any case. */
export const isCountryCode = (code: string): boolean => twoLetters.test(code) && countries.has(code.toUpperCase());

/**
 * Returns why a region is wrong for its country, as the rest of a sentence that begins with the field; undefined if it
 * is right. Accepts values of any type. Returns undefined for one that is not a text, because its own field reports
 * that.
 */
export function regionProblem(countryCode: unknown, region: unknown): string | undefined {
  const country = typeof countryCode === "string" ? countryCode.toUpperCase() : "";
  const known = regions[country];
  if (known === undefined) return undefined;
  if (region === undefined) return "is required for addresses in the US, at US military bases and in Canada";
  if (typeof region !== "string" || (twoLetters.test(region) && known.has(region.toUpperCase()))) return undefined;
  return `must be a two-letter postal code of a region of ${country}`;
}

/** Returns the region as the delivery service gets it: codes in upper case, regions of other countries as given. */
const normalRegion = (countryCode: string, region: string): string =>
  regions[countryCode] === undefined ? region : region.toUpperCase();

/** A country code of ISO 3166-1 alpha-2 in any case, parsed to upper case. */
export const countryCode = () =>
  text()
    .trim()
    .refine(isCountryCode, { error: "must be a two-letter country code of ISO 3166-1" })
    .toUpperCase()
    .meta({ minLength: 2, maxLength: 2 });

/** Returns the fields of a mailing address that both versions name alike (specification section 2). */
export const addressFields = () => ({
  street_line1: nonEmptyLine().describe("Street and number."),
  street_line2: optionalLine().describe("Further line of the street address."),
  postal_code: postalCode().describe("A space, or 00000, where the country has no postal codes."),
  city: nonEmptyLine().describe("City."),
  region: optionalLine(50).describe(
    "Two-letter postal code of the region. Required in the US, at US military bases and in Canada.",
  ),
});

/**
 * Returns the schema of an address with the rule of the region for the country in the named field (C5). Region codes
 * are parsed to upper case.
 */
export const withRegionRule = <S extends z.ZodObject>(address: S, country: keyof S["shape"] & string): S =>
  address
    .superRefine((given: Fields, context) => {
      const message = regionProblem(given[country], given.region);
      if (message !== undefined) context.addIssue({ code: "custom", path: ["region"], message });
    }, evenIfInvalid)
    .overwrite(given => {
      const { region } = given as Fields;
      return typeof region === "string" ? { ...given, region: normalRegion(String(given[country]), region) } : given;
    });
