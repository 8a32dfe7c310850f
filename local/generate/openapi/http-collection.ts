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

/** The variable and the header of each security scheme. */
const credentials: Readonly<Record<string, { readonly variable: string; readonly header: string }>> = {
  bearer: { variable: "token", header: "Authorization: Bearer {{token}}" },
  sessionHeader: { variable: "session", header: "X-Service-Session: {{session}}" },
  masterKey: { variable: "masterKey", header: "x-functions-key: {{masterKey}}" },
};

/** Returns the calls of an OpenAPI document with their examples, for the REST client of an editor. */
export function httpCollection(document: object): string {
  const { info, paths } = document as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.deprecated !== true)
      .map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const used = Object.values(credentials).filter(({ variable }) =>
    operations.some(({ operation }) => credentialOf(operation)?.variable === variable),
  );
  const head = [
    `# ${info.title}. Generated from the OpenAPI document: npm run openapi.`,
    "# For the REST clients of VS Code and JetBrains. npm start prints the address and writes .local/run.json.",
    "",
    "@base = http://127.0.0.1:7071",
    ...used.map(({ variable }) => `@${variable} = `),
  ];
  return `${[...head, ...operations.flatMap(request)].join("\n")}\n`;
}

const credentialOf = ({ security }: Operation) =>
  Object.entries(credentials).find(([scheme]) => security.some(each => Object.hasOwn(each, scheme)))?.[1];

function request({ path, method, operation }: { path: string; method: string; operation: Operation }): string[] {
  const { operationId, summary, parameters, requestBody } = operation;
  const given = (place: string) =>
    parameters.filter(parameter => parameter.in === place && parameter.example !== undefined);
  const query = new URLSearchParams(
    given("query").map(({ name, example }): [string, string] => [name, String(example)]),
  );
  const target = given("path").reduce(
    (target, { name, example }) => target.replace(`{${name}}`, encodeURIComponent(String(example))),
    path,
  );
  const example = requestBody?.content["application/json"]?.example;
  const credential = credentialOf(operation);
  return [
    "",
    `### ${operationId}: ${summary}`,
    `${method} {{base}}${target}${query.size === 0 ? "" : `?${query}`}`,
    ...(credential === undefined ? [] : [credential.header]),
    ...given("header").map(({ name, example }) => `${name}: ${example}`),
    ...(example === undefined ? [] : ["Content-Type: application/json", "", JSON.stringify(example, undefined, 2)]),
  ];
}
