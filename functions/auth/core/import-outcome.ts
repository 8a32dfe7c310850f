import * as z from "zod";
import { Fault } from "../../../lib/platform/fault.ts";
import { refuseCore } from "../errors.ts";

/** Fields of the result of an element that was refused. */
export const outcomeFields = () => ({
  error: z.string().optional().describe("Why the element was not imported, for people."),
  problems: z
    .array(z.object({ field: z.string().describe("Empty for the whole element."), reason: z.string() }))
    .optional()
    .describe("Every invalid field, with status 400; every different one of an existing user, with status 409."),
});

/** Returns the status of an element of a batch, and why it was refused. */
export function importOutcome(result: { readonly isNew: boolean } | Fault) {
  if (!(result instanceof Fault)) return { status: result.isNew ? 201 : 200 };
  const { status, body } = refuseCore(result);
  const problems = result.problems.map(({ path, reason }) => ({ field: path, reason }));
  return { status, ...(body as object), ...(problems.length > 0 && { problems }) };
}
