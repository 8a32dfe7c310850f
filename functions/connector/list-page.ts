import * as z from "zod";
import { nonEmptyLine } from "../../lib/connector/api/field-rules.ts";
import type { Call } from "../../lib/platform/http/call.ts";
import type { ConnectorContext } from "./context.ts";

const maxOfPage = 1000;
const usualPage = 100;
const topError = `must be a whole number from 1 to ${maxOfPage}`;

/** Returns the schema of a name in a filter, without the characters that creates remove. */
export const filterName = () => nonEmptyLine().optional();

const pageFields = () => ({
  $top: z
    .string()
    .regex(/^[0-9]{1,4}$/, { error: topError, abort: true })
    .transform(Number)
    .refine(top => top >= 1 && top <= maxOfPage, { error: topError })
    .meta({ shownAs: { type: "integer", minimum: 1, maximum: maxOfPage } })
    .default(usualPage)
    .describe(`Maximum number of entries of a page, 1 to ${maxOfPage}; ${usualPage} by default.`),
  $skiptoken: listPosition("must be a value from the link to the next page")
    .optional()
    .describe("Where the page begins: from the link to it."),
});

/** Returns the schema of the query of a list. */
export const listQuery = <F extends z.ZodRawShape>(filters: F) => z.object({ ...filters, ...pageFields() });

/** Returns the headers of a page: the link to the next one, if there is one. */
export function pageHeaders(path: string, next: string | undefined, { url }: Call, context: ConnectorContext) {
  if (next === undefined) return {};
  const query = new URLSearchParams(url.search);
  query.set("$skiptoken", next);
  return { headers: { link: `<${context.connectorUrl(url)}${path}?${query}>; rel="next"` } };
}

/** Returns the schema of a position in a list of requests: the time of a creation and a request id. */
export const listPosition = (error: string) =>
  z.string().regex(/^[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}(?::[0-9]{2}){2}\.[0-9]{3}Z_[0-9a-f-]{36}$/, { error });
