import { Fault, type FaultKind, faultKinds } from "../../../lib/platform/fault.ts";
import type { Api } from "../../../lib/platform/http/api.ts";
import { canRefuse } from "../../../lib/platform/http/refusals.ts";
import { type AnyEndpoint, content, everyAnswer } from "./operation.ts";
import { type Json, ref } from "./schemas.ts";

/** What each kind of refusal means, and a message of it. */
const texts: Readonly<Record<FaultKind, { readonly text: string; readonly message: string }>> = {
  invalid: { text: "The request is not valid. Every wrong field is named.", message: "The request is not valid." },
  unauthenticated: { text: "No valid credentials.", message: "No valid credentials." },
  forbidden: {
    text: "The caller is not allowed to make this call, or did not use the proxy.",
    message: "The caller lacks the required role.",
  },
  not_found: { text: "The path names nothing that exists.", message: "It does not exist." },
  conflict: { text: "The current state does not allow it.", message: "The current state does not allow it." },
  length_required: {
    text: "The body was sent chunked. Send `Content-Length`.",
    message: "Content-Length is required.",
  },
  too_large: { text: "The body is too large, or has too many fields.", message: "The body is too large." },
  unsupported_media: {
    text: "The body has another media type, or is compressed.",
    message: "The body must be application/json.",
  },
  throttled: { text: "Too many attempts. Try again after `Retry-After`.", message: "Too many attempts." },
  delivery_refused: { text: "The delivery service refused the order.", message: "The address is not known." },
  idp_refused: { text: "An identity provider refused a credential.", message: "The user is not known at the IdP." },
  internal: { text: "A failure of the service.", message: "Internal error." },
  unavailable: { text: "A service that this one needs is not responding. Try again.", message: "Try again later." },
};

export interface Refusals {
  /** The response components by name. */
  readonly components: Readonly<Record<string, Json>>;
  /** Returns the refusals of an operation by status. */
  of(endpoint: AnyEndpoint, method: string): Readonly<Record<string, Json>>;
}

/** Returns the API's refusals: kinds that share a status share a response. @param error schema of their bodies */
export function refusalsOf({ input, endpoints, refuse }: Api<never>, error: Json): Refusals {
  const operations = Object.values(endpoints).flatMap(endpoint =>
    endpoint.routes.map(route => ({ endpoint, method: route.split(" ")[0] ?? "" })),
  );
  const possible = faultKinds.filter(kind =>
    operations.some(({ endpoint, method }) => canRefuse(input, endpoint, { method, kind })),
  );
  const byStatus = [...Map.groupBy(possible, kind => refuse(new Fault(kind, "")).status)].sort(([a], [b]) => a - b);
  return {
    components: Object.fromEntries(
      byStatus.map(([status, kinds]) => [componentName(status), response(status, kinds, { refuse, error })]),
    ),
    of: (endpoint, method) =>
      Object.fromEntries(
        byStatus
          .filter(([, kinds]) => kinds.some(kind => canRefuse(input, endpoint, { method, kind })))
          .map(([status]) => [String(status), ref("responses", componentName(status))]),
      ),
  };
}

const schemeHeader = (scheme: string | undefined): Json =>
  scheme === undefined
    ? {}
    : { "www-authenticate": { description: "The required scheme.", schema: { type: "string", const: scheme } } };

const componentName = (status: number): string => `Refused${status}`;

function response(
  status: number,
  kinds: readonly FaultKind[],
  { refuse, error }: Pick<Api<never>, "refuse"> & { readonly error: Json },
): Json {
  const [kind = "internal"] = kinds;
  const problems = kind === "invalid" ? [{ path: "recipient.email", reason: "is required" }] : [];
  const { headers = {}, body } = refuse(new Fault(kind, texts[kind].message, { retryAfter: 30, problems }));
  return {
    description: kinds.map(each => texts[each].text).join(" "),
    headers: {
      ...everyAnswer,
      ...schemeHeader(headers["www-authenticate"]),
      ...([409, 429, 503].includes(status) ? { "retry-after": ref("headers", "retryAfter") } : {}),
    },
    content: content(["application/json"], error, body),
  };
}
