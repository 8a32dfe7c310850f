import type * as z from "zod";
import type { PeerAnswer } from "./exchange.ts";

/**
 * Reads the JSON body of a control call and hands it to `act`; a body that does not fit is answered 400 with every wrong
 * field named. An empty body is read as `{}`.
 */
export function withControlBody<S extends z.ZodType>(
  schema: S,
  body: Buffer,
  act: (input: z.output<S>) => PeerAnswer | Promise<PeerAnswer>,
): PeerAnswer | Promise<PeerAnswer> {
  let json: unknown;
  try {
    json = body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
  } catch {
    return { status: 400, body: { error: "the body is no JSON", problems: [] } };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return act(parsed.data);
  const problems = parsed.error.issues.flatMap(issue =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map(key => ({ path: [...issue.path, key].join("."), reason: "unknown field" }))
      : [{ path: issue.path.join("."), reason: issue.message }],
  );
  const error = problems.map(({ path, reason }) => `${path}: ${reason}`).join("; ");
  return { status: 400, body: { error, problems } };
}
