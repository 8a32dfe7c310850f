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

interface Import<T, R> {
  /** Returns an element; throws Fault `invalid` for one that cannot be read. */
  readonly parse: (element: unknown, index: number) => T;
  /** Returns the results of the elements that can be read, in their order. */
  readonly importAll: (elements: readonly T[]) => Promise<readonly R[]>;
  /** Returns the fields that name an element. */
  readonly describe: (element: T, result: R) => object;
}

/** Imports the elements of a list, and returns the result of each, in the order of the list. */
export async function importEach<T extends object, R extends { readonly isNew: boolean } | Fault>(
  list: readonly unknown[],
  { parse, importAll, describe }: Import<T, R>,
): Promise<readonly object[]> {
  const elements = list.map((element, index) => {
    try {
      return parse(element, index);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return error;
    }
  });
  const readable = elements.filter((element): element is T => !(element instanceof Fault));
  const results = await importAll(readable);
  return elements.map((element, index) => {
    if (element instanceof Fault) return { index, ...outcomeOf(element) };
    const result = results[readable.indexOf(element)] as R;
    return { index, ...describe(element, result), ...outcomeOf(result) };
  });
}

/** Returns the status of an element of a batch, and why it was refused. */
function outcomeOf(result: { readonly isNew: boolean } | Fault) {
  if (!(result instanceof Fault)) return { status: result.isNew ? 201 : 200 };
  const { status, body } = refuseCore(result);
  const problems = result.problems.map(({ path, reason }) => ({ field: path, reason }));
  return { status, ...(body as object), ...(problems.length > 0 && { problems }) };
}
