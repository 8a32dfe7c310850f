import { Fault, type FaultKind, faultKinds } from "../../../lib/platform/fault.ts";
import type { Api } from "../../../lib/platform/http/api.ts";
import { canRefuse } from "../../../lib/platform/http/serve.ts";
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
  of(endpoint: AnyEndpoint): Readonly<Record<string, Json>>;
}

/** What limits the kinds of refusals that not every operation has. */
const limits: Partial<Record<FaultKind, string>> = {
  unauthenticated: "Only of an operation that needs credentials.",
  length_required: "Only of a call with a body.",
  too_large: "Only of a call with a body.",
  unsupported_media: "Only of a call with a body.",
};

/** Whether the operation itself refuses, and not the check of caller and input, which is the same for all of them. */
const isOwn = ({ refusals, params }: AnyEndpoint, kind: FaultKind): boolean =>
  refusals.includes(kind) || (kind === "not_found" && params !== undefined);

/**
 * Returns the API's refusals. Those that an operation lists itself are its responses by status; kinds that share a status
 * share a response. Those of the pipeline are one response for each class of statuses, which explains each of them.
 * @param error schema of their bodies
 */
export function refusalsOf(api: Api<never>, error: Json): Refusals {
  const { endpoints, refuse } = api;
  const statusOf = (kind: FaultKind): number => refuse(new Fault(kind, "")).status;
  const classOf = (kind: FaultKind): string => `${String(statusOf(kind)).charAt(0)}XX`;
  const operations = Object.values(endpoints).flatMap(endpoint =>
    endpoint.routes.map(route => ({ endpoint, method: route.split(" ")[0] ?? "" })),
  );
  const own = faultKinds.filter(kind => operations.some(({ endpoint }) => isOwn(endpoint, kind)));
  const common = faultKinds.filter(kind =>
    operations.some(({ endpoint, method }) => !isOwn(endpoint, kind) && canRefuse(endpoint, { method, kind })),
  );
  const byStatus = [...Map.groupBy(new Set([...common, ...own]), statusOf)]
    .filter(([, kinds]) => kinds.some(kind => own.includes(kind)))
    .sort(([a], [b]) => a - b);
  const byClass = [...Map.groupBy(common, classOf)].sort();
  return {
    components: Object.fromEntries([
      ...byStatus.map(([status, kinds]) => {
        const description = kinds.map(kind => texts[kind].text).join(" ");
        return [componentName(status), response(description, kinds, { refuse, error })] as const;
      }),
      ...byClass.map(([name, kinds]) => {
        const lines = kinds.map(kind => [`- ${statusOf(kind)}:`, texts[kind].text, limits[kind]].join(" ").trimEnd());
        return [componentName(name), response(lines.sort().join("\n"), kinds, { refuse, error })] as const;
      }),
    ]),
    of: endpoint =>
      Object.fromEntries(
        [
          ...byStatus.filter(([, kinds]) => kinds.some(kind => isOwn(endpoint, kind))).map(([status]) => status),
          ...byClass.map(([name]) => name),
        ].map(name => [name, ref("responses", componentName(name))]),
      ),
  };
}

const componentName = (name: number | string): string => `Refused${name}`;

/** @param kinds of these refusals; the example is of the first one */
function response(
  description: string,
  kinds: readonly FaultKind[],
  { refuse, error }: Pick<Api<never>, "refuse"> & { readonly error: Json },
): Json {
  const replies = kinds.map(kind => {
    const problems = kind === "invalid" ? [{ path: "recipient.email", reason: "is required" }] : [];
    return refuse(new Fault(kind, texts[kind].message, { retryAfterSeconds: 30, problems }));
  });
  const scheme = replies.map(({ headers }) => headers?.["www-authenticate"]).find(value => value !== undefined);
  const canWait = replies.some(({ status }) => [409, 429, 503].includes(status));
  return {
    description,
    headers: {
      ...everyAnswer,
      ...(scheme !== undefined && {
        "www-authenticate": {
          description: "The required scheme, with 401.",
          schema: { type: "string", const: scheme },
        },
      }),
      ...(canWait && { "retry-after": ref("headers", "retryAfter") }),
    },
    content: content(["application/json"], error, replies[0]?.body),
  };
}
