import { encodedAgain, routedPath } from "../../../local/host/http/route.ts";

/**
 * Returns a path as Azure's front end passes it on to the host, and the header in which it passes on the path as the caller sent it. The
 * path is decoded, `%2F` and `%5C` become slashes, dot segments are removed, and it is encoded again except for `%` with two hex
 * digits. So the host decodes `%2565` a second time.
 */
export const throughFrontEnd = (path: string) => ({
  path: encodedAgain(routedPath(path.replace(/%2f|%5c|\\/gi, "/"))),
  headers: { "x-waws-unencoded-url": path },
});
