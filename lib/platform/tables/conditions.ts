import { isServiceError } from "../azure/service-errors.ts";

/** Error codes of failed conditions. A missing table is not one of them, because it is an error of the deployment. */
const conditions = {
  missing: ["ResourceNotFound", "EntityNotFound"],
  exists: ["EntityAlreadyExists"],
  changed: ["UpdateConditionNotSatisfied", "ConditionNotMet"],
};

/** Returns the result of `work`; undefined if it fails with one of the expected conditions. */
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

/** Returns the error code: the SDK has that of a transaction in `code`, that of other calls in `details`. */
function codeOf(error: unknown): string | undefined {
  if (!isServiceError(error)) return undefined;
  const { details } = error as { details?: { odataError?: { code?: string } } };
  return details?.odataError?.code ?? error.code;
}

export function etagOf({ etag }: { etag?: string }): string {
  if (etag === undefined) throw new Error("Table storage returned no ETag for a write");
  return etag;
}

/** Returns the ETag. Throws TypeError for an empty one or `*`, with which the service would overwrite any version. */
export function checkedEtag(etag: string): string {
  if (!/^(W\/)?"[^"]+"$/.test(etag)) throw new TypeError("A conditional write needs the ETag of the row that was read");
  return etag;
}
