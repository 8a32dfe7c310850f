import type * as z from "zod";
import type { HttpAnswer } from "../../commands/http-exchange.ts";

/** The parsed body, or one sentence that names every wrong field. */
export type Reading<T> =
  | { readonly ok: true; readonly input: T }
  | { readonly ok: false; readonly error: string; readonly problems: readonly { path: string; reason: string }[] };

/** Parses a JSON body; an empty body is `{}`. */
export function readBody<S extends z.ZodType>(schema: S, body: Buffer): Reading<z.output<S>> {
  let json: unknown;
  try {
    json = body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
  } catch {
    return { ok: false, error: "the body is not JSON", problems: [] };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { ok: true, input: parsed.data };
  const problems = parsed.error.issues.flatMap(issue =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map(key => ({ path: [...issue.path, key].join("."), reason: "unknown field" }))
      : [{ path: issue.path.join("."), reason: issue.message }],
  );
  return { ok: false, error: problems.map(({ path, reason }) => `${path}: ${reason}`).join("; "), problems };
}

/** Passes the parsed body of a control call to `act`. Responds 400 with every wrong field if the body is invalid. */
export function withControlBody<S extends z.ZodType>(
  schema: S,
  body: Buffer,
  act: (input: z.output<S>) => HttpAnswer | Promise<HttpAnswer>,
): HttpAnswer | Promise<HttpAnswer> {
  const reading = readBody(schema, body);
  if (reading.ok) return act(reading.input);
  return { status: 400, body: { error: reading.error, problems: reading.problems } };
}
