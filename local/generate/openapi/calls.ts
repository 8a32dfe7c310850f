interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly example?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly deprecated?: boolean;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

/** An OpenAPI document, before its repeated parts are shared. */
export interface Document {
  readonly info: { readonly title: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** The example of an operation as a call. */
export interface ExampleCall {
  readonly operationId: string;
  readonly summary: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The security schemes of which one is sufficient. */
  readonly schemes: readonly string[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: unknown;
}

/**
 * What the examples of the Core API need, and what ends them: in this order they succeed on a new system, but for API
 * tokens, which need a token of the tenant. The other examples are between them, in the order of the document.
 */
const first = [
  "coreCreateUser",
  "coreImportOtpkey",
  "coreAssignOtpkey",
  "coreImportOtpkeys",
  "coreImportUsers",
  "coreSetUserAttribute",
  "coreSetOtpkeyAttribute",
  "coreSetUserOtpkeyAttribute",
];
const last = [
  "coreResetPassword",
  "coreDeleteUserOtpkeyAttribute",
  "coreDeleteOtpkeyAttribute",
  "coreDeleteUserAttribute",
  "coreUnassignOtpkey",
  "coreDeleteOtpkey",
  "coreRenameUser",
  "coreDeleteUser",
  "coreCreateApiToken",
  "coreListApiTokens",
  "coreRevokeApiToken",
  "clientPassword",
  "clientLogout",
];

/** Returns the examples of an OpenAPI document as calls, without those of aliases. */
export const callsOf = ({ paths }: Document): readonly ExampleCall[] =>
  Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { deprecated }]) => deprecated !== true)
        .map(([method, operation]) => toCall(path, method.toUpperCase(), operation)),
    )
    .sort((one, other) => placeOf(one) - placeOf(other));

/** Returns the place of a call among those of its document: negative if it is one of the first. */
const placeOf = ({ operationId }: ExampleCall): number =>
  first.includes(operationId) ? first.indexOf(operationId) - first.length : last.indexOf(operationId) + 1;

function toCall(path: string, method: string, operation: Operation): ExampleCall {
  const { operationId, summary, parameters, requestBody, security } = operation;
  const given = (place: string) =>
    parameters
      .filter(parameter => parameter.in === place && parameter.example !== undefined)
      .map(({ name, example }) => [name, String(example)] as const);
  const query = new URLSearchParams(given("query").map(([name, value]): [string, string] => [name, value]));
  const named = given("path").reduce(
    (target, [name, value]) => target.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  return {
    operationId,
    summary,
    method,
    target: `${named}${query.size === 0 ? "" : `?${query}`}`,
    schemes: security.flatMap(each => Object.keys(each)),
    headers: given("header"),
    body: requestBody?.content["application/json"]?.example,
  };
}
