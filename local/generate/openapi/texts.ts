import type { ApiText } from "./document.ts";

const common = `## Conventions

- Every response has \`x-request-id\`. A caller can choose the id by sending the header. Report it with a problem.
- \`null\` in an optional field of a JSON body counts as absent.
- Responses are JSON. New fields can appear in any response, so ignore the fields that you do not know.
- A status of 429 or 503 has \`Retry-After\` in seconds. Wait that long, then repeat the call.
- An operation that is marked as deprecated is an alias of another one, for existing clients.`;

const tokens = `Send \`Authorization: Bearer <token>\`. The token is either a token of the customer's tenant with the app role`;

const fields = `- Parameters are form fields, fields of a flat JSON object, or query parameters. If one is in body and query, that of
  the body counts. One that is given twice in the query or in a form is refused.`;

const lists = `- Lists are paged with \`$top\`. While more entries follow, the response has a \`Link\` header with \`rel="next"\`.`;

const tokensTag = "Static tokens of applications that cannot get tokens of the tenant.";

export const coreText: ApiText = {
  description: `The Core API manages users, OTP keys and attributes. Keep it private: it gives full control.

## Authentication

${tokens} \`Core.Admin\`, or a static API token of this API (\`core_…\`). Tokens with the roles
\`Core.Read\`, \`Core.Support\` and \`Core.Import\` may make the calls that name \`read\`, \`support\` and \`import\`;
each may read. A static token has such a role too.

${common}
${lists}
${fields}
- A POST or DELETE with an unknown parameter, in body or query, is refused with 400, which names it. So is an element of
  a batch.
- \`{user}\` in a path is the numeric id or the username. Percent-encode a username once, with \`%\` as \`%25\`.
- An error is \`{"error": "…"}\`.`,
  tags: {
    Users: "People who can sign in.",
    "OTP keys":
      "Hardware or software keys that make one-time passwords. Each has a prefix, with which all its OTPs begin.",
    Attributes: "Texts by key, which users and OTP keys have.",
    "API tokens": tokensTag,
  },
};

export const clientText: ApiText = {
  description: `The Client API signs people in with a password and an OTP. It is public.

## Authentication

A login returns a session: in the body, which a program sends as \`X-Service-Session\`, and as a cookie
with \`SameSite=Strict\`, which a browser sends by itself to the same site only.

A page of another origin may call the API only if its origin is in the setting \`CLIENT_ALLOWED_ORIGINS\`.
Responses to such a page have CORS headers, and \`OPTIONS\` is answered.

${common}
${fields} Unknown ones are ignored.
- Prefer POST: a query string is logged.
- An error is \`{"error": "…"}\`.`,
  tags: {
    Sessions: "The time between a login and a logout.",
    Credentials: "Password and OTP of a user.",
  },
};

export const connectorText: ApiText = {
  description: `The connector orders FIDO security keys that work on arrival: it asks identity providers for
credentials, has keys programmed and shipped or programmed on site, activates the credentials, and emails the PINs.

## Authentication

${tokens} \`Connector.Call\`, or a static API token of the connector (\`connector_…\`). Tokens with the
roles \`Connector.Read\` and \`Connector.Support\` may make the calls that name \`read\` and \`support\`; both may read. A
static token has such a role too.

${common}
${lists}
- A create accepts \`Idempotency-Key\`. Within 7 days the same key with the same body has the same response, so a
  create whose response was lost can be repeated: the response then has \`Idempotent-Replayed: true\`. The same key with
  another body is refused with 409.
- An error is \`{"error_code", "error_message", "error_data"}\`. A 400 lists every wrong field in \`error_data.fields\`.
- A call that changes something is refused with 400 if it has a query parameter or a field that the service does not
  know. Only a create ignores unknown fields of its body, and names them in \`x-ignored-fields\`.
- Times are ISO 8601 in UTC.`,
  tags: {
    "Credential requests": "An order of one recipient: keys, and the credentials on them.",
    "Security keys": "The register of all keys, also after the clean-up of their requests.",
    Jobs: "Work that otherwise runs on a schedule.",
    Settings: "The settings of the deployment.",
    "API tokens": tokensTag,
    "Version 1": "For callers of version 1 of the API. New callers use the calls above, which have all options.",
  },
};
