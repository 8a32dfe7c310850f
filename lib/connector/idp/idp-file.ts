import { isAlias, isMap, isScalar, LineCounter, type Node, parseDocument, visit } from "yaml";
import type { Problem } from "../../fault.ts";
import { isRecord, readIdpEntry, settingName } from "./idp-file-entry.ts";
import type { IdpConfigurations, IdpSettings } from "./kinds.ts";

/** Bytes of the longest file (decision C13). */
export const longestIdpFile = 256 * 1024;

/** Wrong places told of one file: one slip of indentation makes thousands. */
const mostProblems = 200;

const file = "IDP_CONFIGURATION_PATH";

/** Every IdP of a file, or everything that is wrong with it. */
export type ReadIdpFile =
  | { readonly idps: IdpConfigurations; readonly problems?: never }
  | { readonly idps?: never; readonly problems: readonly Problem[] };

/**
 * Reads a file of several IdPs: YAML, keyed by IdP id, with the specification's names below (decision C13). A problem names the
 * key, or line and column where the text is no YAML; never a value.
 * @param defaultId the IdP that has to be among them
 * @param secretHosts where secrets may be sent
 */
export function readIdpFile(bytes: Uint8Array, defaultId: string, secretHosts: readonly string[]): ReadIdpFile {
  const told = parse(bytes);
  if ("problems" in told) return { problems: told.problems.slice(0, mostProblems) };
  const idps = new Map<string, IdpSettings>();
  const problems: Problem[] = [];
  const folded = new Set<string>();
  for (const [id, entry] of Object.entries(told.idps)) {
    // Names of secrets do not tell the cases apart.
    if (folded.has(id.toLowerCase()))
      problems.push({ path: `${file}/${settingName(id)}`, reason: "differs from another id by case only" });
    folded.add(id.toLowerCase());
    const read = readIdpEntry(id, entry, secretHosts);
    if ("type" in read) idps.set(id, read);
    else problems.push(...read.map(({ path, reason }) => ({ path: `${file}/${path}`, reason })));
  }
  if (!Object.hasOwn(told.idps, defaultId)) problems.push({ path: "IDP_DEFAULT", reason: `is not in ${file}` });
  return problems.length > 0 ? { problems: problems.slice(0, mostProblems) } : { idps };
}

/** The file as texts below texts, as deep as it goes. */
function parse(
  bytes: Uint8Array,
): { readonly idps: Readonly<Record<string, unknown>> } | { readonly problems: readonly Problem[] } {
  const wrong = (reason: string) => ({ problems: [{ path: file, reason }] });
  if (bytes.byteLength > longestIdpFile) return wrong("must have at most 256 KiB");
  const text = textOf(bytes);
  if (text === undefined) return wrong("must be text in UTF-8");
  const lines = new LineCounter();
  // Every value is text to this schema, so that no id of digits with an `e` among them becomes a number.
  const document = parseDocument(text, {
    schema: "failsafe",
    merge: false,
    // Its own check takes a time that grows with the square of the number of keys.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
    lineCounter: lines,
  });
  const at = (offset: number, reason: string): Problem => {
    const { line, col } = lines.linePos(offset);
    return { path: `${file}, line ${line}, column ${col}`, reason };
  };
  const unreadable = document.errors.map(({ pos }) => at(pos[0], "is no YAML"));
  const problems = unreadable.length > 0 ? unreadable : forbiddenIn(document.contents, at);
  if (problems.length > 0) return { problems };
  const idps: unknown = document.toJS();
  return isRecord(idps) ? { idps } : wrong("must name identity providers by their ids");
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Whatever would make something stand for something else than what is written there. */
function forbiddenIn(contents: Node | null, at: (offset: number, reason: string) => Problem): readonly Problem[] {
  const problems: Problem[] = [];
  const refuse = (node: Node, reason: string) => problems.push(at(node.range?.[0] ?? 0, reason));
  visit(contents, {
    Node: (_, node) => {
      if (isAlias(node) || node.anchor !== undefined) refuse(node, "must not be an anchor or alias");
      if (node.tag !== undefined) refuse(node, "must not have a tag");
      if (isMap<Node>(node)) {
        const seen = new Set<string>();
        for (const { key } of node.items) {
          const name = isScalar(key) ? key.value : undefined;
          if (typeof name !== "string") refuse(key, "must be a name");
          else if (seen.has(name)) refuse(key, "stands there twice");
          else seen.add(name);
        }
      }
    },
  });
  return problems;
}
