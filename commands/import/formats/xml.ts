import { XMLParser, XMLValidator } from "fast-xml-parser";
import { notText, notTextReason } from "./parsed-lines.ts";

/** An element or attribute by its name without namespace; `@` before an attribute's name. */
export interface XmlElement {
  readonly [name: string]: XmlElement | readonly XmlElement[] | string | undefined;
}

/** The reason why a document is refused, and the line. The message quotes nothing of the document. */
export class XmlError extends Error {
  override readonly name = "XmlError";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
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
 * Parses a document to nested objects. Throws an `XmlError` for a malformed document, and for any document type declaration, because
 * that could read other files or expand without limit (A18).
 */
export function readXml(text: string): { readonly root: XmlElement; lineOf(element: XmlElement): number } {
  const normal = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const lineAt = lineCounter(normal);
  const declaration = normal.search(/<!DOCTYPE/i);
  if (declaration >= 0) throw new XmlError(lineAt(declaration), "it has a document type declaration");
  const garbled = normal.search(notText);
  if (garbled >= 0) throw new XmlError(lineAt(garbled), notTextReason);
  const found = XMLValidator.validate(normal);
  if (found !== true) throw new XmlError(found.err.line, "it is no well-formed XML");
  return {
    root: parse(normal),
    lineOf: element => {
      const { startIndex = 0 } = (element as Record<symbol, { startIndex?: number } | undefined>)[metaData] ?? {};
      return lineAt(startIndex + 1);
    },
  };
}

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
    throw new XmlError(1, "it is no well-formed XML");
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
