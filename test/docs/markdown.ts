/** A link of a Markdown file, as it is written: `../storage.md#rows`. */
interface Link {
  readonly line: number;
  readonly target: string;
}

interface Markdown {
  /** Texts of the headings, in order, without their `#` and without code marks. */
  readonly headings: readonly string[];
  /** What a link can name behind `#`, as GitHub makes it from the headings. */
  readonly anchors: ReadonlySet<string>;
  readonly links: readonly Link[];
  /** The text with code and comments blanked out, so that offsets and lines stay the same. */
  readonly prose: string;
}

/** Reads headings and links of Markdown; code blocks, code spans and HTML comments have none. */
export function readMarkdown(text: string): Markdown {
  const outsideBlocks = text.replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1[^\n]*$|<!--[\s\S]*?-->/gm, blank);
  const prose = outsideBlocks.replace(/(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, blank);
  const headings = [...outsideBlocks.matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, title = ""]) => visibleText(title));
  return { headings, anchors: anchorsOf(headings), links: linksOf(prose), prose };
}

/** The line of an offset, from 1. */
const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;

const blank = (text: string): string => text.replace(/[^\n]/g, " ");

const visibleText = (title: string): string => title.replace(/`/g, "").replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");

function anchorsOf(headings: readonly string[]): Set<string> {
  const anchors = new Set<string>();
  for (const heading of headings) {
    const plain = heading.toLowerCase().replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "");
    const anchor = plain.replaceAll(" ", "-");
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

function linksOf(prose: string): Link[] {
  const inline = prose.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g);
  const defined = prose.matchAll(/^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)/gm);
  return [...inline, ...defined].map(({ 1: target = "", index }) => ({ line: lineAt(prose, index), target }));
}
