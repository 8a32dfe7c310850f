import { isServiceError } from "../service-errors.ts";

/** Failed conditions by error code. A missing table is not among them, because that is an error of the deployment. */
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

/** The SDK puts the error code of a transaction into `code`, of other calls into `details`. */
function codeOf(error: unknown): string | undefined {
  if (!isServiceError(error)) return undefined;
  const { details } = error as { details?: { odataError?: { code?: string } } };
  return details?.odataError?.code ?? error.code;
}

export function etagOf({ etag }: { etag?: string }): string {
  if (etag === undefined) throw new Error("Table storage answered a write without an etag");
  return etag;
}

/** Returns the ETag. Throws TypeError for an empty one or `*`, with which the service would overwrite any version. */
export function checkedEtag(etag: string): string {
  if (!/^(W\/)?"[^"]+"$/.test(etag)) throw new TypeError("A conditional write needs the etag of the row that was read");
  return etag;
}
