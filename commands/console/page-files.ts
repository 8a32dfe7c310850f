import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { dirname, extname, join } from "node:path";
import type { HttpAnswer, HttpCall } from "../http-exchange.ts";

const folder = new URL("page/", import.meta.url);
const { resolve } = createRequire(import.meta.url);

/** The page's library as it is installed: package and file. The import map of index.html has these paths. */
const libraries: Readonly<Record<string, readonly [name: string, file: string]>> = {
  "lib/preact.js": ["preact", "preact.module.js"],
  "lib/hooks.js": ["preact/hooks", "hooks.module.js"],
  "lib/htm.js": ["htm", "htm.module.js"],
};

/** Returns the path of a file; undefined for another name. Packages are resolved at their first use. */
function pathOf(name: string, own: ReadonlySet<string>): string | URL | undefined {
  const library = Object.hasOwn(libraries, name) ? libraries[name] : undefined;
  if (library === undefined) return own.has(name) ? new URL(name, folder) : undefined;
  return join(dirname(resolve(library[0])), library[1]);
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/**
 * Allows nothing from other origins, no inline code except the import map by its hash, and no text as markup, because
 * the shown data is not trusted.
 */
const policy = [
  "default-src 'none'",
  `script-src 'self' '${importMapHash()}'`,
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

function importMapHash(): string {
  const html = readFileSync(new URL("index.html", folder), "utf8");
  const [, map = ""] = /<script type="importmap">([^<]*)<\/script>/.exec(html) ?? [];
  return `sha256-${createHash("sha256").update(map).digest("base64")}`;
}

/** Returns the handler of the page's own files and libraries. The names are read once, the files at each call. */
export function openPage(): (call: HttpCall) => HttpAnswer | undefined {
  const names = new Set(
    readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(name => extname(name) in types),
  );
  const scripts = new Map<string, string>();
  const script = (source: string): string => {
    const known = scripts.get(source) ?? stripTypeScriptTypes(source);
    scripts.set(source, known);
    return known;
  };
  return ({ method, path }) => {
    const name = path === "/" ? "index.html" : path.slice(1);
    const location = method === "GET" ? pathOf(name, names) : undefined;
    if (location === undefined) return undefined;
    const file = readFileSync(location);
    return {
      status: 200,
      headers: { "content-type": types[extname(name)] ?? "", "content-security-policy": policy },
      body: extname(name) === ".ts" ? script(file.toString()) : file,
    };
  };
}
