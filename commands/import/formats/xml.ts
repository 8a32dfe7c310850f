import { XMLParser, XMLValidator } from "fast-xml-parser";
import { RefusedLine } from "../lines.ts";
import { notText, notTextReason } from "./check-key.ts";

/** An element or attribute by its name without namespace; `@` before an attribute's name. */
export interface XmlElement {
  readonly [name: string]: XmlElement | readonly XmlElement[] | string | undefined;
}

/** The reason why a whole document is refused. */
export class RefusedDocument extends RefusedLine {
  /** Number of the line with the reason. */
  readonly line: number;

  constructor(reason: string, line = 1) {
    super(reason);
    this.line = line;
  }
}

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  removeNSPrefix: true,
  parseTagValue: false,
  parseAttributeValue: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  // Without it, numeric character references stay as they are: `&#13;` is a line end that another program wrote.
  htmlEntities: true,
  captureMetaData: true,
  alwaysCreateTextNode: true,
  maxNestedTags: 32,
});
const metaData = XMLParser.getMetaDataSymbol() as symbol;

/**
 * Parses a document to nested objects. Throws `RefusedDocument` for a malformed document, and for any document type declaration,
 * because that could read other files or expand without limit (A18).
 */
export function readXml(text: string): { readonly root: XmlElement; lineOf(element: XmlElement): number } {
  const normal = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const lineAt = lineCounter(normal);
  for (const [unwanted, reason] of [
    [/<!DOCTYPE/i, "it has a document type declaration"],
    [notText, notTextReason],
  ] as const) {
    const at = normal.search(unwanted);
    if (at >= 0) throw new RefusedDocument(reason, lineAt(at));
  }
  const found = XMLValidator.validate(normal);
  if (found !== true) throw new RefusedDocument(isMalformed, found.err.line);
  return {
    root: parse(normal),
    lineOf: element => {
      const { startIndex = 0 } = (element as Record<symbol, { startIndex?: number } | undefined>)[metaData] ?? {};
      return lineAt(startIndex + 1);
    },
  };
}

const isMalformed = "it is no well-formed XML";

/** Returns a function from index to line. It continues from the previous index, so that reading elements in order counts each line once. */
function lineCounter(text: string): (index: number) => number {
  let [at, line] = [0, 1];
  return index => {
    if (index < at) [at, line] = [0, 1];
    line += text.slice(at, index).split("\n").length - 1;
    at = index;
    return line;
  };
}

function parse(text: string): XmlElement {
  try {
    return parser.parse(text) as XmlElement;
  } catch {
    throw new RefusedDocument(isMalformed);
  }
}

/** Returns the child elements with a name, in order. */
export function elements(parent: XmlElement | undefined, name: string): readonly XmlElement[] {
  const value = parent?.[name];
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map(child =>
    typeof child === "string" ? { "#text": child } : child,
  );
}

/** Returns the first element at a path of names. */
export const element = (parent: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined =>
  path.reduce<XmlElement | undefined>((at, name) => elements(at, name)[0], parent);

/** Returns the trimmed text of the first element at a path, or of an attribute if the last name begins with `@`; empty if absent. */
export function textAt(parent: XmlElement | undefined, ...path: readonly string[]): string {
  const value = element(parent, ...path)?.["#text"];
  return typeof value === "string" ? value.trim() : "";
}

/** Decodes the base64 of the first element at a path. Throws `RefusedLine`. @param what name of the value */
export function base64At(parent: XmlElement | undefined, what: string, ...path: readonly string[]): Uint8Array {
  const compact = textAt(parent, ...path).replace(/\s+/g, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) throw new RefusedLine(`its ${what} is no base64`);
  return new Uint8Array(Buffer.from(compact, "base64"));
}
