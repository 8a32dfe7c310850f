import { Fault } from "../../fault.ts";

/** Where Azure's front end passes on the target as it was sent. */
const headerNames = ["x-original-url", "x-waws-unencoded-url"];

/**
 * Refuses a path with `.` or `..` as a segment, where the platform passes on the path as it was sent. The host has removed such segments
 * from the path that it routes, so that a `DELETE` of `users/bob/attributes/..` arrives as a `DELETE` of `users/bob`. A header that a
 * caller sends itself can only refuse its own call. Throws Fault `invalid`.
 */
export function refuseDotSegments(headers: Headers): void {
  for (const name of headerNames) {
    const [path = ""] = (headers.get(name) ?? "").replace(/^[a-z]+:\/\/[^/]*/i, "").split(/[?#]/);
    const decoded = path.replace(/%2e/gi, ".").replace(/%2f|%5c|\\/gi, "/");
    if (decoded.split("/").some(segment => segment === "." || segment === "..")) {
      throw new Fault("invalid", "The path must not have . or .. as a segment.");
    }
  }
}
