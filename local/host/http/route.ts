// Development tool: route templates as Azure's host parses them.

export interface Route {
  /** Returns the parameters of a matching path; undefined if it does not match. */
  match(path: string): Readonly<Record<string, string>> | undefined;
}

/**
 * Parses a template of literal segments and `{parameter}`, or `{*path}`, which matches every path.
 *
 * @throws Error if the template has anything else or starts with a slash: in Azure such a route takes the whole app down
 */
export function parseRoute(template: string): Route {
  if (template.startsWith("/")) throw new Error(`the route "${template}" begins with a slash`);
  if (template === "{*path}") return { match: path => ({ path: path.replace(/^\//, "") }) };
  const segments = template.split("/").map(text => {
    const name = /^\{(\w+)\}$/.exec(text)?.[1];
    if (text === "" || (name === undefined && /[{}]/.test(text)))
      throw new Error(`the route "${template}" has a segment that is neither text nor one parameter`);
    return { name, text: text.toLowerCase() };
  });
  return {
    match: path => {
      // One slash at the end is ignored. Two make an empty segment, which nothing matches.
      const values = path.replace(/^\//, "").replace(/\/$/, "").split("/");
      const matches = segments.every(({ name, text }, index) =>
        name === undefined ? values[index]?.toLowerCase() === text : values[index],
      );
      if (!matches || values.length !== segments.length) return undefined;
      return Object.fromEntries(segments.flatMap(({ name }, index) => (name ? [[name, values[index] ?? ""]] : [])));
    },
  };
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
