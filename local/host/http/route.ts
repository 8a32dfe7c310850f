// Development tool: route templates as Azure's host parses them.

type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "parameter"; readonly name: string; readonly optional: boolean; readonly accepts: Accepts }
  | { readonly kind: "rest"; readonly name: string };

type Accepts = (value: string) => boolean;

export interface Route {
  /** Returns the parameters of a matching path, without those that it leaves out; undefined if it does not match. */
  match(path: string): Readonly<Record<string, string>> | undefined;
}

const constraints: Readonly<Record<string, Accepts>> = {
  int: value => /^[+-]?\d{1,10}$/.test(value) && Math.abs(Number(value)) < 2 ** 31,
  long: value => /^[+-]?\d{1,19}$/.test(value),
  bool: value => /^(?:true|false)$/i.test(value),
  alpha: value => /^[a-z]*$/i.test(value),
  guid: value => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value),
};

/**
 * Parses a template of literal segments, `{p}`, `{p?}`, `{p:int}` (also long, bool, alpha, guid, regex) and a last `{*rest}`.
 *
 * @throws Error if the template is invalid or starts with a slash: in Azure such a route takes the whole app down.
 */
export function parseRoute(template: string): Route {
  if (template.startsWith("/")) throw new Error(`the route "${template}" begins with a slash`);
  const segments = template === "" ? [] : template.replace(/\/$/, "").split("/").map(parseSegment);
  segments.forEach((segment, index) => {
    const next = segments[index + 1];
    if (segment.kind === "rest" && next !== undefined) throw new Error(`"${template}": the rest must come last`);
    if (segment.kind === "parameter" && segment.optional && next !== undefined) {
      throw new Error(`"${template}": only the last parameter may be optional`);
    }
  });
  return { match: path => matchSegments(segments, path) };
}

function parseSegment(text: string): Segment {
  if (!/[{}]/.test(text)) {
    if (text === "") throw new Error("a route has an empty segment");
    return { kind: "literal", text: text.toLowerCase() };
  }
  const [, rest, name, condition, mark] = /^\{(\*{0,2})(\w+)(?::(.+?))?(\?)?\}$/.exec(text) ?? [];
  if (name === undefined) throw new Error(`the route segment "${text}" is more than one parameter`);
  if (rest !== "") return { kind: "rest", name };
  return { kind: "parameter", name, optional: mark === "?", accepts: condition ? constraint(condition) : () => true };
}

function constraint(condition: string): Accepts {
  const pattern = /^regex\((.*)\)$/.exec(condition)?.[1];
  if (pattern !== undefined) {
    const expression = new RegExp(pattern.replaceAll("{{", "{").replaceAll("}}", "}"), "i");
    return value => expression.test(value);
  }
  const known = constraints[condition];
  if (known === undefined) throw new Error(`the route constraint "${condition}" is not known`);
  return known;
}

/** Ignores one slash at the end. Two slashes make an empty segment, which only a rest matches. */
const pathSegments = (path: string): string[] => {
  const trimmed = path.replace(/^\//, "").replace(/\/$/, "");
  return trimmed === "" ? [] : trimmed.split("/");
};

function matchSegments(segments: readonly Segment[], fullPath: string): Record<string, string> | undefined {
  const path = pathSegments(fullPath);
  const parameters: [string, string][] = [];
  for (const [index, segment] of segments.entries()) {
    if (segment.kind === "rest") {
      // A rest keeps the slash at the end.
      const rest = fullPath.replace(/^\//, "").split("/").slice(index).join("/");
      if (rest !== "") parameters.push([segment.name, rest]);
      return Object.fromEntries(parameters);
    }
    const value = path[index];
    if (value === undefined) {
      if (segment.kind === "parameter" && segment.optional) break;
      return undefined;
    }
    if (segment.kind === "literal") {
      if (value.toLowerCase() !== segment.text) return undefined;
    } else {
      if (value === "" || !segment.accepts(value)) return undefined;
      parameters.push([segment.name, value]);
    }
  }
  return path.length > segments.length ? undefined : Object.fromEntries(parameters);
}

/** Matches one character in percent-encoded UTF-8. */
const encodedCharacter =
  /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3}/gi;

/**
 * Returns the path that routes are matched with: percent-encoding is decoded once, then `.` and `..` are removed. `%2F` and bytes
 * that are not UTF-8 stay. So `%2F` and `%252F` of a request become the same text.
 */
export function routedPath(rawPath: string): string {
  const decoded = rawPath.replace(encodedCharacter, encoded => {
    if (/^%2f$/i.test(encoded)) return encoded;
    try {
      return decodeURIComponent(encoded);
    } catch {
      return encoded;
    }
  });
  const kept: string[] = [];
  const segments = decoded.slice(1).split("/");
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
    if (isLast && /^\.{1,2}$/.test(segment)) kept.push("");
  }
  return `/${kept.join("/")}`;
}

/**
 * Returns the path of `request.url`: the matched path, encoded again except for `%` with two hex digits. So `%2541` becomes `%41`,
 * and a program that decodes it decodes twice.
 */
export const encodedAgain = (path: string): string =>
  path.replace(/%[0-9a-f]{2}|[^%A-Za-z0-9\-._~!$&'()*+,;=:@/]+|%/gi, text =>
    /^%../.test(text) ? text : encodeURIComponent(text),
  );
