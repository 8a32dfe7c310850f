import type * as z from "zod";

interface Problem {
  readonly path: string;
  readonly reason: string;
}

/**
 * Parses a JSON body; an empty body is `{}`. Throws what `refuse` returns if the body is invalid.
 * @param refuse gets one sentence that names every wrong field, and the fields
 */
export function readBody<S extends z.ZodType>(
  schema: S,
  body: Buffer,
  refuse: (sentence: string, problems: readonly Problem[]) => Error,
): z.output<S> {
  const json = body.length === 0 ? {} : jsonOf(body);
  if (json === undefined) throw refuse("the body is not JSON", []);
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw refuse(wrongFields(parsed.error), problemsOf(parsed.error));
}

/** Returns the JSON value of a text; undefined if it is not JSON. */
export function jsonOf(text: Buffer | string): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

/** Returns one sentence that names every wrong field. */
export const wrongFields = (error: z.ZodError): string =>
  problemsOf(error)
    .map(({ path, reason }) => `${path}: ${reason}`)
    .join("; ");

const problemsOf = ({ issues }: z.ZodError): readonly Problem[] =>
  issues.flatMap(issue =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map(key => ({ path: [...issue.path, key].join("."), reason: "unknown field" }))
      : [{ path: issue.path.join("."), reason: issue.message }],
  );
