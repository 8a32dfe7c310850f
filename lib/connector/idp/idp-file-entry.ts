import type * as z from "zod";
import type { Problem } from "../../fault.ts";
import { type IdpSettings, idpId, idpSecretName, idpSettings } from "./kinds.ts";
import { secretHostProblems } from "./secret-hosts.ts";

/** Kinds as a file may name them: by name, or by the specification's letter. */
const kindsByName: ReadonlyMap<unknown, IdpSettings["type"]> = new Map([
  ["pingone", "pingone"],
  ["entra", "entra"],
  ["aic", "aic"],
  ["A", "pingone"],
  ["B", "entra"],
  ["C", "aic"],
]);

/**
 * Returns one IdP of a file, every value a text, or what is wrong with it: a path is `<id>/<key>`.
 * @param told what stands below the id
 * @param secretHosts where secrets may be sent
 */
export function readIdpEntry(
  id: string,
  told: unknown,
  secretHosts: readonly string[],
): IdpSettings | readonly Problem[] {
  const place = settingName(id);
  const { error } = idpId.safeParse(id);
  if (error !== undefined) return [{ path: place, reason: error.issues[0]?.message ?? "is no id" }];
  if (!isRecord(told)) return [{ path: place, reason: "must have settings below it" }];
  const type = kindsByName.get(told.type);
  if (type === undefined) {
    return [{ path: `${place}/type`, reason: `must be one of ${[...kindsByName.keys()].join(", ")}` }];
  }
  const result = idpSettings.safeParse({ ...told, type });
  if (result.success) {
    const problems = secretHostProblems(result.data, secretHosts);
    return problems.length === 0
      ? result.data
      : problems.map(({ path, reason }) => ({ path: `${place}/${path}`, reason }));
  }
  return result.error.issues.flatMap(issue => {
    const names = issue.code === "unrecognized_keys" ? issue.keys : issue.path.slice(0, 1).map(String);
    return names.map(name => ({ path: `${place}/${settingName(name)}`, reason: reasonOf(issue, id, name, told) }));
  });
}

function reasonOf(issue: z.core.$ZodIssue, id: string, name: string, told: Readonly<Record<string, unknown>>): string {
  if (issue.code === "unrecognized_keys") {
    return name === "client-secret" ? `belongs into the vault, as ${idpSecretName(id)}` : "is no setting of this kind";
  }
  if (issue.code !== "invalid_type") return issue.message;
  return Object.hasOwn(told, name) ? "must be one value" : "must be set";
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A key of the file, fit for a log line. */
export const settingName = (name: string): string =>
  name
    .slice(0, 128)
    .replace(/[\p{C}\p{Z}]+/gu, " ")
    .trim();
