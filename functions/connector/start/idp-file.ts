import { createReadStream, readFileSync, statSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { longestIdpFile } from "../../../lib/connector/idp/kind.ts";
import { withTimeout } from "../../../lib/platform/async.ts";
import type { Blobs } from "../../../lib/platform/azure/blobs.ts";

/** Where the file of several IdPs is stored. */
export type IdpFileLocation = { readonly path: string } | { readonly container: string; readonly blob: string };

/**
 * Parses `IDP_CONFIGURATION_PATH`: an absolute address is a blob, any other text is a path. Returns undefined for an
 * address that is not under the deployment's own blob endpoint.
 * @param blobEndpoint without a slash at the end
 */
export function locateIdpFile(pathOrUrl: string, blobEndpoint: string | undefined): IdpFileLocation | undefined {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(pathOrUrl)) return { path: pathOrUrl };
  if (blobEndpoint === undefined || !URL.canParse(pathOrUrl) || /[?#]/.test(pathOrUrl)) return undefined;
  const { origin, pathname } = new URL(pathOrUrl);
  const base = new URL(`${blobEndpoint}/`);
  if (origin !== base.origin || !pathname.startsWith(base.pathname)) return undefined;
  const [, container, blob] = /^([a-z0-9-]{3,63})\/(.+)$/.exec(decodePath(pathname.slice(base.pathname.length))) ?? [];
  return container === undefined || blob === undefined ? undefined : { container, blob };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

/** Errors that mean that the path is wrong. Others mean that the disk cannot be read at the moment. */
const pathErrors = ["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "EINVAL"];

/**
 * Returns the bytes of a file, or a text that says why the path is wrong. Returns undefined if the file cannot be read
 * now but perhaps later, because a mounted share is not available.
 */
export function readAtStart(path: string): Uint8Array | string | undefined {
  try {
    const found = statSync(path);
    if (!found.isFile()) return "is not a file";
    // The parser of the file reports that it is too long.
    return found.size > longestIdpFile ? new Uint8Array(longestIdpFile + 1) : readFileSync(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!pathErrors.includes(code)) return undefined;
    return code === "ENOENT" ? "does not exist" : `cannot be read (${code})`;
  }
}

/** Returns a function that reads the file within the time limit. It returns undefined if the file does not exist. */
export function idpFileReader(
  location: IdpFileLocation,
  { blobs, timeoutMs }: { readonly blobs: Blobs; readonly timeoutMs: number },
): () => Promise<Uint8Array | undefined> {
  if ("blob" in location) return () => blobs.head(location.container, location.blob, longestIdpFile + 1);
  return () =>
    withTimeout(timeoutMs, signal => buffer(createReadStream(location.path, { end: longestIdpFile, signal }))).catch(
      (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      },
    );
}
