import type { FaultKind } from "../fault.ts";
import type { Api } from "./api.ts";
import type { Reply } from "./call.ts";
import { type Endpoint, responseHeaders } from "./endpoint.ts";

type AnyEndpoint = Omit<Endpoint<never>, "run">;

/**
 * Returns whether a method of an endpoint can answer with a kind of Fault, by its list of refusals or by the pipeline.
 */
export function canRefuse(
  input: Api<never>["input"],
  endpoint: AnyEndpoint,
  { method, kind }: { readonly method: string; readonly kind: FaultKind },
): boolean {
  if (endpoint.refusals.includes(kind)) return true;
  switch (kind) {
    case "invalid":
    case "forbidden":
    case "internal":
    case "unavailable":
      return true;
    case "unauthenticated":
      return endpoint.access !== "open";
    case "not_found":
      return endpoint.params !== undefined;
    case "length_required":
    case "too_large":
    case "unsupported_media":
      // Fields of a form are read from the body of every POST (G4).
      return input === "fields" ? method === "POST" : endpoint.body !== undefined;
    default:
      return false;
  }
}

/** Throws if an endpoint does not list the status or a header of its reply. */
export function requireListedReply({ answers }: AnyEndpoint, { status, headers = {}, csv, cookies = [] }: Reply): void {
  const listed = answers[status];
  if (listed === undefined) throw new Error(`The endpoint does not list the status ${status}.`);
  if (csv !== undefined && listed.csv !== true) throw new Error(`The endpoint does not list CSV for ${status}.`);
  const sent = [...Object.keys(headers), ...(cookies.length > 0 ? ["set-cookie"] : [])];
  const missing = responseHeaders.filter(name => sent.includes(name) && !listed.headers?.includes(name));
  if (missing.length > 0) throw new Error(`The endpoint does not list the headers ${missing.join(", ")} of ${status}.`);
}
