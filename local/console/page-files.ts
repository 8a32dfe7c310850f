import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import type { PeerAnswer, PeerCall } from "../peers/http-exchange.ts";

const folder = new URL("page/", import.meta.url);

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Nothing from elsewhere, nothing inline, and no text that becomes markup: what the page shows may come from anybody. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
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

/** Answers calls for the page's own files, and no other file's: the names are read once. They are read anew at each call. */
export function openPage(): (call: PeerCall) => PeerAnswer | undefined {
  const names = new Set(readdirSync(folder).filter(name => extname(name) in types));
  return ({ method, path }) => {
    const name = path === "/" ? "index.html" : path.slice(1);
    if (method !== "GET" || !names.has(name)) return undefined;
    return {
      status: 200,
      headers: { "content-type": types[extname(name)] ?? "", "content-security-policy": policy },
      body: readFileSync(new URL(name, folder)),
    };
  };
}
