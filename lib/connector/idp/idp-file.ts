import { type Document, isScalar, LineCounter, parseDocument, visit } from "yaml";
import type { Problem } from "../../platform/fault.ts";
import { idpIdReason, idpSecretName, isIdpId, longestIdpFile } from "./kind.ts";
import { type AnyIdpKind, type IdpConfigurations, type IdpSettings, idpKinds, readIdp } from "./kinds.ts";
import { secretHostProblems } from "./secret-hosts.ts";

/** The number of problems that are reported: one wrong indentation causes thousands. */
const maxProblems = 200;

const file = "IDP_CONFIGURATION_PATH";

/** Every IdP of a file, or every problem with it. */
type ReadIdpFile =
  | { readonly idps: IdpConfigurations; readonly problems?: never }
  | { readonly idps?: never; readonly problems: readonly Problem[] };

/**
 * Reads a file of several IdPs: YAML, keyed by IdP id, with the specification's names below each (C13). A problem names
 * the key, or line and column if the text is not YAML, but never a value.
 * @param defaultId the IdP that the file must contain
 * @param secretHosts the hosts to which secrets may be sent
 */
export function readIdpFile(bytes: Uint8Array, defaultId: string, secretHosts: readonly string[]): ReadIdpFile {
  const parsed = parse(bytes);
  if ("problems" in parsed) return { problems: parsed.problems.slice(0, maxProblems) };
  const idps = new Map<string, IdpSettings>();
  const problems: Problem[] = [];
  const foldedIds = new Set<string>();
  for (const [id, entry] of Object.entries(parsed.idps)) {
    // Names of secrets in Key Vault are not case-sensitive.
    if (foldedIds.has(id.toLowerCase()))
      problems.push({ path: `${file}/${printableKey(id)}`, reason: "differs from another id by case only" });
    foldedIds.add(id.toLowerCase());
    const read = readIdpEntry(id, entry, secretHosts);
    if ("type" in read) idps.set(id, read);
    else problems.push(...read.map(({ path, reason }) => ({ path: `${file}/${path}`, reason })));
  }
  if (!Object.hasOwn(parsed.idps, defaultId)) problems.push({ path: "IDP_DEFAULT", reason: `is not in ${file}` });
  return problems.length > 0 ? { problems: problems.slice(0, maxProblems) } : { idps };
}

/** Returns the file as nested records of texts. */
function parse(
  bytes: Uint8Array,
): { readonly idps: Readonly<Record<string, unknown>> } | { readonly problems: readonly Problem[] } {
  const wrong = (reason: string) => ({ problems: [{ path: file, reason }] });
  if (bytes.byteLength > longestIdpFile) return wrong("must have at most 256 KiB");
  const text = decodeText(bytes);
  if (text === undefined) return wrong("must be text in UTF-8");
  const lines = new LineCounter();
  const document = parseDocument(text, {
    // Every value is a text, so that an id such as 123e4567 does not become a number.
    schema: "failsafe",
    merge: false,
    // The parser's own check takes quadratic time in the number of keys.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
    lineCounter: lines,
  });
  const at = (offset: number, reason: string): Problem => {
    const { line, col } = lines.linePos(offset);
    return { path: `${file}, line ${line}, column ${col}`, reason };
  };
  const problems = document.errors.map(({ pos }) => at(pos[0], "is not YAML"));
  if (problems.length === 0) problems.push(...repeatedKeys(document).map(offset => at(offset, "is there twice")));
  if (problems.length > 0) return { problems };
  try {
    // Throws for an alias, which hides the value of a key.
    const idps: unknown = document.toJS({ maxAliasCount: 0 });
    return isRecord(idps) ? { idps } : wrong("must name identity providers by their ids");
  } catch {
    return wrong("must have no aliases");
  }
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns where keys are that their map has already. */
function repeatedKeys(document: Document): readonly number[] {
  const offsets: number[] = [];
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) offsets.push(key.range?.[0] ?? 0);
        seen.add(key.value);
      }
    },
  });
  return offsets;
}

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
  if (!isIdpId(id)) return [{ path, reason: idpIdReason }];
  if (!isRecord(entry)) return [{ path, reason: "must have settings below it" }];
  const kind = kindsByName.get(entry.type);
  if (kind === undefined)
    return [{ path: `${path}/type`, reason: `must be one of ${[...kindsByName.keys()].join(", ")}` }];
  const wrong = Object.entries(entry).flatMap(([key, value]) => {
    const reason = reasonOf(kind, id, key, value);
    return reason === undefined ? [] : [{ path: key, reason }];
  });
  const texts = Object.entries(entry).flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : []));
  const read = readIdp(kind, Object.fromEntries(texts));
  const further = "type" in read ? secretHostProblems(read, secretHosts) : read;
  const problems = [...wrong, ...further.filter(({ path: key }) => !wrong.some(other => other.path === key))];
  if ("type" in read && problems.length === 0) return read;
  return problems.map(({ path: key, reason }) => ({ path: `${path}/${printableKey(key)}`, reason }));
}

/** Returns the reason why the file must not have this key or this kind of value; undefined if there is none. */
function reasonOf({ settings }: AnyIdpKind, id: string, key: string, value: unknown): string | undefined {
  if (key === "client-secret") return `must be stored in Key Vault, as ${idpSecretName(id)}`;
  if (key !== "type" && !Object.hasOwn(settings.shape, key)) return "is not a setting of this kind";
  return typeof value === "string" ? undefined : "must be one value";
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a key of the file in a form that fits into a log line. */
export const printableKey = (key: string): string =>
  key
    .slice(0, 128)
    .replace(/[\p{C}\p{Z}]+/gu, " ")
    .trim();
