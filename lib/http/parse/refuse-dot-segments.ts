import { Fault } from "../../fault.ts";
import type { RequestHeaders } from "../call.ts";

/** Headers in which Azure's front end sends the original request target. */
const originalPathHeaders = ["x-original-url", "x-waws-unencoded-url"];

/**
 * Throws Fault `invalid` if the original path has `.` or `..` as a segment. The host resolves such segments before it routes, so a
 * `DELETE` of `users/bob/attributes/..` would delete `users/bob`. A caller that sends these headers itself can only get its own call
 * refused.
 */
export function refuseDotSegments(headers: RequestHeaders): void {
  for (const name of originalPathHeaders) {
    const target = headers.get(name);
    if (target === null) continue;
    const [path = ""] = target.replace(/^[a-z]+:\/\/[^/]*/i, "").split(/[?#]/);
    const decoded = path.replace(/%2e/gi, ".").replace(/%2f|%5c|\\/gi, "/");
    if (decoded.split("/").some(segment => segment === "." || segment === "..")) {
      throw new Fault("invalid", "The path must not have . or .. as a segment.");
    }
  }
}
