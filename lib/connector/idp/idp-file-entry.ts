import type * as z from "zod";
import type { Problem } from "../../platform/fault.ts";
import { idpId, idpSecretName } from "./idp-id.ts";
import { type AnyIdpKind, type IdpSettings, idpKinds } from "./kinds.ts";
import { secretHostProblems } from "./secret-hosts.ts";

/** The kinds as a file may name them: by type, or by the specification's letter. */
const kindsByName: ReadonlyMap<unknown, AnyIdpKind> = new Map([
  ...idpKinds.map(kind => [kind.type, kind] as const),
  ...idpKinds.map(kind => [kind.letter, kind] as const),
]);

/**
 * Returns the settings of one IdP of a file, or every problem with them. The path of a problem is `<id>/<key>`.
 * @param entry the value below the id; all values in it are texts
 * @param secretHosts the hosts to which secrets may be sent
 */
export function readIdpEntry(
  id: string,
  entry: unknown,
  secretHosts: readonly string[],
): IdpSettings | readonly Problem[] {
  const path = printableKey(id);
  const { error } = idpId.safeParse(id);
  if (error !== undefined) return [{ path, reason: error.issues[0]?.message ?? "is not an id" }];
  if (!isRecord(entry)) return [{ path, reason: "must have settings below it" }];
  const kind = kindsByName.get(entry.type);
  if (kind === undefined)
    return [{ path: `${path}/type`, reason: `must be one of ${[...kindsByName.keys()].join(", ")}` }];
  const { success, data: settings, error: invalid } = kind.settings.safeParse({ ...entry, type: kind.type });
  if (success) {
    const problems = secretHostProblems(settings, secretHosts);
    return problems.length === 0
      ? settings
      : problems.map(({ path: key, reason }) => ({ path: `${path}/${key}`, reason }));
  }
  return invalid.issues.flatMap(issue => {
    const keys = issue.code === "unrecognized_keys" ? issue.keys : issue.path.slice(0, 1).map(String);
    return keys.map(key => ({ path: `${path}/${printableKey(key)}`, reason: reasonOf(issue, id, key, entry) }));
  });
}

function reasonOf(issue: z.core.$ZodIssue, id: string, key: string, entry: Readonly<Record<string, unknown>>): string {
  if (issue.code === "unrecognized_keys") {
    return key === "client-secret"
      ? `must be stored in Key Vault, as ${idpSecretName(id)}`
      : "is not a setting of this kind";
  }
  if (issue.code !== "invalid_type") return issue.message;
  return Object.hasOwn(entry, key) ? "must be one value" : "must be set";
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a key of the file in a form that fits into a log line. */
export const printableKey = (key: string): string =>
  key
    .slice(0, 128)
    .replace(/[\p{C}\p{Z}]+/gu, " ")
    .trim();
