import * as z from "zod";
import type { Problem } from "../fault.ts";
import type { Call } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";
import { problemsOf, unknownFields, unknownParameters } from "./problems.ts";
import { readJson, readOptionalJson } from "./read-body.ts";
import { readQuery } from "./read-fields.ts";

const noFields = z.object({});

/**
 * Reads query and body of a call in the JSON style. `problems` are the parameters and fields that the endpoint does not
 * know (G4): a call with a mistyped field changes nothing. No body is an empty object. Without a schema a body may be
 * empty or an empty object, and the query of a GET may be anything. Throws Fault as `readQuery`, `readJson` and
 * `readOptionalJson` do.
 */
export function readJsonInput(
  { query: querySchema, body: bodySchema, ignoresUnknown = false }: Omit<Endpoint<never>, "run">,
  call: Call,
  limitBytes: number,
) {
  const query = readQuery(call.url);
  const isGet = call.method === "GET";
  const problems: Problem[] = [];
  if (querySchema !== undefined || !isGet) problems.push(...unknownParameters(querySchema, query));
  if (isGet) return { query, body: undefined, problems };
  const read = bodySchema === undefined ? readOptionalJson : readJson;
  const body = isWithoutBody(call) ? {} : read(call, limitBytes);
  const { error } = bodySchema === undefined ? noFields.safeParse(body) : {};
  if (error !== undefined) problems.push(...problemsOf(error));
  if (!ignoresUnknown) problems.push(...unknownFields(bodySchema, body));
  return { query, body, problems };
}

/**
 * Whether a call has no body. Its Transfer-Encoding and Content-Encoding do not count then. The host delivers a chunked
 * body as an empty one, and only the content type shows that there was one.
 */
const isWithoutBody = ({ body, headers }: Call): boolean =>
  body.byteLength === 0 && headers.get("content-type") === null;
