import { isServiceError } from "../service-errors.ts";

/** The failed conditions, by the service's error codes. A missing table is none of them: that is a fault of the deployment. */
const conditions = {
  missing: ["ResourceNotFound", "EntityNotFound"],
  exists: ["EntityAlreadyExists"],
  changed: ["UpdateConditionNotSatisfied", "ConditionNotMet"],
};

/** What `work` resolves with; undefined where it fails by one of these conditions. */
export async function undefinedIf<T>(
  expected: readonly (keyof typeof conditions)[],
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code !== undefined && expected.some(condition => conditions[condition].includes(code))) return undefined;
    throw error;
  }
}

/** In a transaction's failure the SDK puts the service's code at the top, else into the details. */
function codeOf(error: unknown): string | undefined {
  if (!isServiceError(error)) return undefined;
  const { details } = error as { details?: { odataError?: { code?: string } } };
  return details?.odataError?.code ?? error.code;
}

export function etagOf({ etag }: { etag?: string }): string {
  if (etag === undefined) throw new Error("Table storage answered a write without an etag");
  return etag;
}

/** An etag that really is a condition: without one, or with `*`, the service overwrites whatever is there. */
export function checkedEtag(etag: string): string {
  if (!/^(W\/)?"[^"]+"$/.test(etag)) throw new TypeError("A conditional write needs the etag of the row that was read");
  return etag;
}
