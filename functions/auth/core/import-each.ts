import * as z from "zod";
import { Fault, invalidRequest } from "../../../lib/platform/fault.ts";
import { problemsOf, safeParse, unknownFields } from "../../../lib/platform/http/problems.ts";
import { refuseCore } from "../errors.ts";

/** Fields of the result of an element that was refused. */
export const outcomeFields = () => ({
  error: z.string().optional().describe("Why the element was not imported, for people."),
  problems: z
    .array(z.object({ field: z.string().describe("Empty for the whole element."), reason: z.string() }))
    .optional()
    .describe(
      "With status 400 every field that is wrong by itself, or else one that breaks the rules of passwords or does " +
        "not fit what is stored; with status 409 every field in which the existing user differs.",
    ),
});

interface Import<I, R> {
  /** The field that names an element. If several elements have one name, only the first counts. */
  readonly field: string;
  /** Parses the name: as results show it, and folded. */
  readonly name: z.ZodType<{ readonly name: string; readonly folded: string }>;
  readonly schema: z.ZodType<I>;
  /** Returns the results of the valid elements, in their order. */
  readonly importAll: (elements: readonly I[]) => Promise<readonly (R | Fault)[]>;
}

/** Imports the elements of a list, and returns the result of each, in the order of the list. */
export async function importEach<I, R extends { readonly isNew: boolean }>(
  list: readonly unknown[],
  { field, name, schema, importAll }: Import<I, R>,
): Promise<readonly object[]> {
  const firstOf = new Map<string, number>();
  const elements = list.map((element, index) => {
    try {
      const named = safeParse(name, (element as Readonly<Record<string, unknown>> | null)?.[field]).data;
      const first = (named && firstOf.get(named.folded)) ?? index;
      if (named) firstOf.set(named.folded, first);
      const { data, error } = safeParse(schema, element);
      const problems = [
        ...(first === index ? [] : [{ path: field, reason: `is also that of the element ${first}` }]),
        ...(error === undefined ? [] : problemsOf(error)),
        ...unknownFields(schema, element),
      ];
      const parsed = problems.length > 0 ? invalidRequest(problems) : (data as I);
      return { shown: { index, [field]: named?.name }, parsed };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { shown: { index }, parsed: error };
    }
  });
  const valid = elements.map(({ parsed }) => parsed).filter((parsed): parsed is I => !(parsed instanceof Fault));
  const results = (await importAll(valid)).values();
  return elements.map(({ shown, parsed }) => {
    const result = parsed instanceof Fault ? parsed : (results.next().value as R | Fault);
    return { ...shown, ...outcomeOf(result) };
  });
}

/** Returns the status of an element of a batch, and why it was refused. */
function outcomeOf(result: { readonly isNew: boolean } | Fault) {
  if (!(result instanceof Fault)) {
    const { isNew, ...shown } = result;
    return { ...shown, status: isNew ? 201 : 200 };
  }
  const { status, body } = refuseCore(result);
  const problems = result.problems.map(({ path, reason }) => ({ field: path, reason }));
  return { status, ...(body as object), ...(problems.length > 0 && { problems }) };
}
