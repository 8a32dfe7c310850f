import { lineAt } from "./markdown.ts";

type Service = "auth" | "connector";

/** A decision or a section of a specification that a text refers to. */
export type Reference = {
  readonly path: string;
  readonly line: number;
} & (
  | { readonly kind: "decision"; readonly id: string }
  /** `service` is absent where neither the text nor the path says whose specification is meant. */
  | { readonly kind: "section"; readonly section: number; readonly service: Service | undefined }
);

/** Blanks, and the start of the next line of a comment or a quotation. */
const gap = String.raw`(?:[ \t]|\r?\n[ \t]*(?:\*(?!/)|//|#|>)?)+`;
const list = (item: string) => `${item}(?:(?:,|;|,?${gap}(?:and|or))${gap}${item})*`;
const linked = (item: string) => String.raw`\[?${item}(?:\]\([^)]*\))?`;
const anyId = String.raw`(?:[A-Z]\d+[a-z]?|\d{4})\b`;
const number = String.raw`\d+\b`;
const ownId = String.raw`[GACL]\d{1,2}[a-z]?\b`;

/** `decision C6`, `decisions C9, C11a and C14`, `decision [C6](connector.md#c6)`. */
const decisions = new RegExp(String.raw`\b[Dd]ecisions?${gap}(${list(linked(anyId))})`, "g");
/** `(C6)`, `(A5, A6)`. */
const inParentheses = new RegExp(String.raw`(?<=\s)\((${list(ownId)})\)`, "g");
/** As `connector specification sections 2 and 4`, followed by rules (`, rule 3`) and ids (`; C9`); the name is optional. */
const sections = new RegExp(
  String.raw`(?:\b(connector|authentication server)(?:'s)?${gap})?\b[Ss]pecification(?:'s)?,?${gap}` +
    `sections?${gap}(${list(number)})(?:,${gap}rules?${gap}${list(number)})?` +
    `(?:[,;]${gap}(${list(ownId)}))?`,
  "g",
);

/** Every reference of a text, in no particular order. */
export function findReferences(path: string, text: string): Reference[] {
  const found = (offset: number) => ({ path, line: lineAt(text, offset) });
  const decisionsIn = (ids: string, offset: number): Reference[] =>
    [...ids.replace(/\]\([^)]*\)/g, "").matchAll(new RegExp(anyId, "g"))].map(([id]) => ({
      ...found(offset),
      kind: "decision",
      id,
    }));
  const matchesOf = (pattern: RegExp) => [...text.matchAll(pattern)];

  return [
    ...[...matchesOf(decisions), ...matchesOf(inParentheses)].flatMap(({ 1: ids = "", index }) =>
      decisionsIn(ids, index),
    ),
    ...matchesOf(sections).flatMap(({ 0: match, 1: named, 2: numbers = "", 3: ids = "", index }) => {
      const service = serviceNamed(named) ?? serviceOfPath(path) ?? serviceOfDecision(match, text.slice(index));
      const each = [...numbers.matchAll(/\d+/g)].map(([number]) => Number(number));
      return [
        ...each.map(section => ({ ...found(index), kind: "section" as const, section, service })),
        ...decisionsIn(ids, index),
      ];
    }),
  ];
}

function serviceNamed(words: string | undefined): Service | undefined {
  if (words === undefined) return undefined;
  return words === "connector" ? "connector" : "auth";
}

/** A folder or file belongs to a service when its name begins like one of the service's parts. */
function serviceOfPath(path: string): Service | undefined {
  if (/(^|\/)(connector|idp|multi-idp|delivery|enrollment)/.test(path)) return "connector";
  return /(^|\/)(auth(?!enticator)|core|client|import)/.test(path) ? "auth" : undefined;
}

/** The decision in the same parentheses or sentence decides which specification a section belongs to. */
function serviceOfDecision(match: string, rest: string): Service | undefined {
  const sentence = match + (/^[^.)"`]{0,80}/.exec(rest.slice(match.length))?.[0] ?? "");
  const letter = /\b([AC])\d{1,2}[a-z]?\b/.exec(sentence)?.[1];
  if (letter === undefined) return undefined;
  return letter === "A" ? "auth" : "connector";
}
