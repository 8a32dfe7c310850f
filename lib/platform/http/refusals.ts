import type { FaultKind } from "../fault.ts";
import type { Api } from "./api.ts";
import type { Reply } from "./call.ts";
import type { Endpoint, ResponseHeader } from "./endpoint.ts";

type AnyEndpoint = Omit<Endpoint<never>, "run">;

/** One method of an endpoint. */
interface Operation {
  readonly endpoint: AnyEndpoint;
  readonly readsBody: boolean;
}

/** Returns the operation of a method. Fields of a form are read from the body of every POST (G4). */
const operationOf = (input: Api<never>["input"], endpoint: AnyEndpoint, method: string): Operation => ({
  endpoint,
  readsBody: input === "fields" ? method === "POST" : endpoint.body !== undefined,
});

type Rule = (operation: Operation) => boolean;

const always: Rule = () => true;
const readsBody: Rule = operation => operation.readsBody;
const onlyListed: Rule = () => false;

/** Which operations can throw each kind of Fault without listing it: the pipeline itself throws these. */
const rules: Readonly<Record<FaultKind, Rule>> = {
  invalid: always,
  unauthenticated: ({ endpoint }) => endpoint.access !== "open",
  forbidden: always,
  not_found: ({ endpoint }) => endpoint.params !== undefined,
  conflict: onlyListed,
  length_required: readsBody,
  too_large: readsBody,
  unsupported_media: readsBody,
  throttled: onlyListed,
  delivery_refused: onlyListed,
  idp_refused: onlyListed,
  internal: always,
  unavailable: always,
};

/** Returns whether a method of an endpoint can answer with a kind of Fault, by its list of refusals or by the pipeline. */
export function canRefuse(
  input: Api<never>["input"],
  endpoint: AnyEndpoint,
  { method, kind }: { readonly method: string; readonly kind: FaultKind },
): boolean {
  return endpoint.refusals.includes(kind) || rules[kind](operationOf(input, endpoint, method));
}

/** Throws if an endpoint does not list the status or a header of its reply. */
export function requireListedReply({ answers }: AnyEndpoint, { status, headers = {}, csv, cookies = [] }: Reply): void {
  const listed = answers[status];
  if (listed === undefined) throw new Error(`The endpoint does not list the status ${status}.`);
  if (csv !== undefined && listed.csv !== true) throw new Error(`The endpoint does not list CSV for ${status}.`);
  const sent = [...Object.keys(headers), ...(cookies.length > 0 ? ["set-cookie"] : [])];
  const missing = sent.filter(name => isResponseHeader(name) && !listed.headers?.includes(name));
  if (missing.length > 0) throw new Error(`The endpoint does not list the headers ${missing.join(", ")} of ${status}.`);
}

const responseHeaders: readonly string[] = [
  "idempotent-replayed",
  "link",
  "location",
  "set-cookie",
] satisfies readonly ResponseHeader[];

const isResponseHeader = (name: string): name is ResponseHeader => responseHeaders.includes(name);
