import { jsonText } from "../json-text.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly example?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly deprecated?: boolean;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

interface Document {
  readonly info: { readonly title: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Call extends Operation {
  readonly path: string;
  readonly method: string;
}

/** What the calls of a collection need. */
export interface Access {
  /** Address of the deployment. */
  readonly base: string;
  /** Bearer token of the API. */
  readonly token: string;
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

/** The header of each security scheme. */
const credentials: Readonly<Record<string, string>> = {
  bearer: "Authorization: Bearer {{token}}",
  sessionHeader: "X-Service-Session: {{session}}",
};

/** A time of the examples that must be in the future. */
const soon = "2026-02-01T10:00:00.000Z";

/** Values of paths that a response has, by the variables to which they are copied. */
const found = {
  credential_request_id: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  event_id: "eabbd68f-6c24-8d3b-8ac7-32526a6f9d12",
  shipment_id: "4711",
};

/**
 * Returns the calls of an OpenAPI document with their examples, without those of aliases, for the REST client of an
 * editor.
 * @param document before its repeated parts are shared
 * @param now in milliseconds since 1970
 */
export function httpCollection(document: object, { base, token }: Access, now: number): string {
  const { info, paths } = document as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
  const text = operations
    .filter(({ deprecated }) => deprecated !== true)
    .sort((one, other) => placeOf(one) - placeOf(other))
    .map(call)
    .join("\n")
    .replaceAll(soon, new Date(now + 24 * 3_600_000).toISOString());
  const variables = Object.entries({ base, token, session: "", ...found }).filter(([name]) =>
    text.includes(`{{${name}}}`),
  );
  const head = [
    `# ${info.title}. Written by npm run openapi -- --http for the REST clients of VS Code and JetBrains.`,
    ...(text.includes("{{session}}") ? ["# Copy the session from the response of clientLogin."] : []),
    ...(text.includes("{{shipment_id}}") ? ["# Copy the ids from the responses of the creates."] : []),
    ...variables.map(([name, value]) => `@${name} = ${value}`),
  ];
  return `${head.join("\n")}\n\n${text}`;
}

/** Returns the place of a call among those of its document: negative if it is one of the first. */
const placeOf = ({ operationId }: Operation): number =>
  first.includes(operationId) ? first.indexOf(operationId) - first.length : last.indexOf(operationId) + 1;

function call({ operationId, summary, method, path, security, parameters, requestBody }: Call): string {
  const given = (place: string) =>
    parameters
      .filter(parameter => parameter.in === place && parameter.example !== undefined)
      .map(({ name, example }): [string, string] => [name, String(example)]);
  const query = new URLSearchParams(given("query"));
  const target = given("path").reduce(
    (at, [name, value]) =>
      at.replace(`{${name}}`, Object.hasOwn(found, name) ? `{{${name}}}` : encodeURIComponent(value)),
    path,
  );
  const scheme = Object.keys(credentials).find(name => security.some(each => name in each));
  const body = requestBody?.content["application/json"]?.example;
  return [
    `### ${operationId}: ${summary}`,
    `${method} {{base}}${target}${query.size === 0 ? "" : `?${query}`}`,
    ...(scheme === undefined ? [] : [credentials[scheme]]),
    ...given("header").map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [""] : ["Content-Type: application/json", "", jsonText(body)]),
  ].join("\n");
}
