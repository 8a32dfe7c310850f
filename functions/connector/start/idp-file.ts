import { createReadStream, readFileSync, statSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import type { Blobs } from "../../../lib/azure/blobs.ts";
import { withTimeout } from "../../../lib/azure/service-errors.ts";
import { longestIdpFile } from "../../../lib/connector/idp/idp-file.ts";

/** Where the file of several IdPs lies (decision C13). */
export type IdpFilePlace = { readonly path: string } | { readonly container: string; readonly blob: string };

/**
 * Tells a blob from a path: an address is a blob, and has to lie under the deployment's own blob endpoint; everything else is a
 * path. Undefined where it is an address of anything else.
 * @param blobEndpoint without a slash at the end
 */
export function idpFilePlace(told: string, blobEndpoint: string | undefined): IdpFilePlace | undefined {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(told)) return { path: told };
  if (blobEndpoint === undefined || !URL.canParse(told) || /[?#]/.test(told)) return undefined;
  const { origin, pathname } = new URL(told);
  const base = new URL(`${blobEndpoint}/`);
  if (origin !== base.origin || !pathname.startsWith(base.pathname)) return undefined;
  const [, container, blob] = /^([a-z0-9-]{3,63})\/(.+)$/.exec(decoded(pathname.slice(base.pathname.length))) ?? [];
  return container === undefined || blob === undefined ? undefined : { container, blob };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

/** What is wrong with the path, not with the disk behind it. */
const wrongPath = ["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "EINVAL"];

/**
 * A file as it is at the start: its bytes, or why the path is no good. Undefined where it can not be read now and may be later: a
 * mounted share that is away.
 */
export function readAtStart(path: string): Uint8Array | string | undefined {
  try {
    const found = statSync(path);
    if (!found.isFile()) return "is no file";
    // The reader of the file says that it is too long.
    return found.size > longestIdpFile ? new Uint8Array(longestIdpFile + 1) : readFileSync(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!wrongPath.includes(code)) return undefined;
    return code === "ENOENT" ? "is not there" : `can not be read (${code})`;
  }
}

/** Reads the file again and again: undefined where there is none; ends within the time limit. */
export function idpFileReader(
  place: IdpFilePlace,
  { blobs, timeoutMs }: { readonly blobs: Blobs; readonly timeoutMs: number },
): () => Promise<Uint8Array | undefined> {
  if ("blob" in place) return () => blobs.head(place.container, place.blob, longestIdpFile + 1);
  return () =>
    withTimeout(timeoutMs, signal => buffer(createReadStream(place.path, { end: longestIdpFile, signal }))).catch(
      (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      },
    );
}
