import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { connector } from "../../../functions/connector/routes.ts";
import { statusKeysV2 } from "../../../lib/connector/api/status.ts";
import { audience } from "../../../local/peers/all.ts";
import { altered, type Body, fullBodies } from "../../lib/connector/api/bodies.ts";
import { connectorHostOfFile } from "../../support/connector/host.ts";
import { orderBody, peersOfFile } from "../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const host = connectorHostOfFile(peers, {
  EMAIL_API_SEND_ENDPOINT: `${peers.mail.url}/send?sig=a-secret`,
  CRON_DATA_CLEANUP_COMPLETED_DAYS: "30",
});
const { call } = host;

const id = "3f0f2f0e-1a2b-4c3d-8e4f-5a6b7c8d9e0f";
/** Every route of the API, its parameters filled in. */
const endpoints = Object.entries(connector.endpoints).flatMap(([name, endpoint]) =>
  endpoint.routes.map(route => ({ name, endpoint, route: route.replaceAll(/\{\w+\}/g, id) })),
);
const cases = endpoints.map(({ route, ...rest }) => [route, rest] as const);
const withBody = cases.filter(([, { endpoint }]) => endpoint.body !== undefined);
const ofRequest = cases.filter(([, { endpoint }]) =>
  endpoint.routes.some(route => route.includes("{credential_request_id}")),
);
const create = "POST /v2/credential-requests";

/** How many requests there are. */
async function countRequests(): Promise<number> {
  const { body } = await call("GET /v2/credential-requests?$top=1000");
  return body.length;
}

const problem = (type: string, more: object = {}) => ({
  error_code: "api_error",
  error_message: expect.any(String),
  error_data: { error_type: type, ...more },
});

/** The endpoints for which less than `call` is sufficient. */
const sufficientRoles = {
  read: [
    "v2GetCredentialRequest",
    "v2ListCredentialRequests",
    "v2ListCredentialRequestEvents",
    "v2ListSecurityKeys",
    "v2GetStatus",
    "v1GetShipment",
    "v1GetCredentialRequest",
    "v1GetStatus",
    "connectorGetCaller",
  ],
  support: [
    "v2OffboardPerson",
    "v2CancelCredentialRequest",
    "v2RevokeCredentialRequest",
    "v2RevokeSecurityKey",
    "v2RevokeCredential",
    "v2ResendPin",
    "v1ResendPin",
    "v1ResendPinOfShipment",
  ],
};

describe.each(cases)("%s", (route, { name }) => {
  it("answers 401 with WWW-Authenticate without a token and with a bad one", async () => {
    const expired = await peers.issuer.mint({ audience, roles: ["Connector.Call"], expiresInSeconds: -60 });
    const forged = await peers.issuer.mint({ audience, roles: ["Connector.Call"], signedBy: "unknown-key" });
    const unknown = `connector_00000000_${"A".repeat(43)}`;
    for (const token of ["", "nonsense", expired, forged, unknown]) {
      const { status, headers, body } = await call(route, { token });
      expect({ status, body }, token).toEqual({ status: 401, body: problem("authentication") });
      expect(headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  it("answers 403 to a valid token without the role, and to a token of the other service", async () => {
    const role = await peers.issuer.mint({ audience, roles: ["Core.Admin"] });
    const none = await peers.issuer.mint({ audience });
    for (const token of [role, none, host.tokens.core])
      expect(await call(route, { token })).toMatchObject({ status: 403, body: problem("authentication") });
  });

  it("answers to the roles that are sufficient, and names the role to others", async () => {
    const isFor = (role: keyof typeof sufficientRoles) => sufficientRoles[role].includes(name);
    const needs = isFor("read") ? "Read" : isFor("support") ? "Support" : "Call";
    const tokens = { Read: await peers.issuer.mint({ audience, roles: ["Connector.Read"] }), Support: "" };
    tokens.Support = await peers.issuer.mint({ audience, roles: ["Connector.Support", "Core.Admin"] });
    for (const [role, token] of Object.entries(tokens)) {
      const { status, body } = await call(route, { token });
      if (needs === "Read" || needs === role) expect([401, 403], role).not.toContain(status);
      else {
        const message = `The token does not contain the role Connector.${needs}.`;
        expect({ status, message: body.error_message }, role).toEqual({ status: 403, message });
      }
    }
  });

  it("answers by a tenant's token with the role or the scope as by a static one", async () => {
    const role = await peers.issuer.mint({ audience, roles: ["Connector.Call"] });
    const scope = await peers.issuer.mint({ audience, scp: "openid Connector.Call" });
    const expected = (await call(route, { token: role })).status;
    expect([401, 403]).not.toContain(expected);
    expect((await call(route, { token: scope })).status).toBe(expected);
    // A static token that leaks must not make others that outlive it.
    const managesTokens = /^(POST|DELETE) \/api-tokens\//.test(route);
    expect((await call(route)).status).toBe(managesTokens ? 403 : expected);
  });
});

describe.each(ofRequest)("%s of a request that is not there", (route, { endpoint }) => {
  const more = endpoint.body?.safeParse({}).success === false ? { body: { sink: 1 } } : {};

  it.each([
    ["an unknown id", id],
    ["what can be no id", "no-id"],
    ["a slash", "a%2Fb"],
    ["what Table storage forbids", "%23%5C%3F%2F"],
    ["a quote", "'%20or%201%20eq%201"],
    ["a long one", "x".repeat(1500)],
    ["other letters", "%F0%9F%94%91"],
  ])("answers 404 to %s", async (_, name) => {
    expect(await call(route.replace(id, name), more)).toMatchObject({ status: 404, body: problem("not_found") });
  });

  it("never answers 500 to an escape that is none", async () => {
    expect((await call(route.replace(id, "%E0%A4%A"), more)).status).toBeOneOf([400, 404]);
  });
});

// lib/platform/http/serve.test.ts has the other bodies that are refused.
it.each(withBody)("the body of %s is refused where it is malformed, no object or larger than 384 KiB", async route => {
  for (const body of ["{", "", "[]"])
    expect(await call(route, { body })).toMatchObject({
      status: 400,
      body: { error_data: { error_type: "validation" } },
    });
  const body = JSON.stringify({ recipient: "x".repeat(393_216) });
  expect(await call(route, { body })).toMatchObject({ status: 413, body: problem("validation") });
});

/** The GETs that change something, and the lists, which would look filtered. */
const strictGets = [
  "v1ResendPinOfShipment",
  "v1ProcessShipments",
  "v2ProcessShipments",
  "v2ListCredentialRequests",
  "v2ListSecurityKeys",
];
const strict = cases.filter(([route, { name }]) => !route.startsWith("GET") || strictGets.includes(name));
const unknownOf = (body: Body) => body.error_data.fields.map(({ path }: Body) => path);

describe.each(strict)("%s", (route, { endpoint }) => {
  it("refuses query parameters that it does not know, by name", async () => {
    const body = endpoint.body === undefined ? {} : { body: {} };
    const { status, body: answer } = await call(`${route}?dryrun=true&key_id=k&__proto__=1`, body);
    expect(status).toBe(400);
    expect(unknownOf(answer)).toEqual(expect.arrayContaining(["dryrun", "key_id", "__proto__"]));
  });
});

describe.each(strict.filter(([route, { endpoint }]) => endpoint.body === undefined && !route.startsWith("GET")))(
  "%s, which has no body,",
  route => {
    it("refuses a body with fields by their names, and one that is not JSON", async () => {
      const { status, body } = await call(route, { body: { key_id: "k", dry_run: true } });
      expect({ status, paths: unknownOf(body) }).toEqual({ status: 400, paths: ["key_id", "dry_run"] });
      for (const text of ["dry_run=true", "[]"]) expect((await call(route, { body: text })).status).toBe(400);
    });

    it("accepts an empty body and an empty object", async () => {
      const { status } = await call(route);
      expect(status).not.toBe(400);
      expect((await call(route, { body: {} })).status).toBe(status);
      expect((await call(route, { body: "" })).status).toBe(status);
    });
  },
);

describe("POST /v2/events/resend", () => {
  it("says that a missing time is required", async () => {
    const { body } = await call("POST /v2/events/resend", { body: { sink: 9 } });
    expect(body.error_data.fields).toEqual([{ path: "since", reason: "is required" }]);
  });

  it("refuses unknown fields by name: events would be sent again", async () => {
    const body = { sink: 9, since: "2026-01-01T00:00:00Z", until: "2026-01-02T00:00:00Z" };
    const { status, body: answer } = await call("POST /v2/events/resend", { body });
    expect({ status, paths: unknownOf(answer) }).toEqual({ status: 400, paths: ["until"] });
  });

  it("answers 404 for an event sink that is not configured", async () => {
    const body = { sink: 9, since: "2026-01-01T00:00:00Z" };
    expect(await call("POST /v2/events/resend", { body })).toMatchObject({ status: 404 });
  });
});

describe(create, () => {
  it("answers 201 with the two ids and nothing else, and the request reads as specified", async () => {
    const body = altered(orderBody([2, 1]), { "shipment.shipment_items[1].name": undefined });
    const { status, body: reply, headers } = await call(create, { body });
    expect(status).toBe(201);
    expect(reply).toEqual({ data: { credential_request_id: expect.any(String), shipment_id: expect.any(String) } });
    expect(headers.get("x-ignored-fields")).toBeNull();
    const { credential_request_id, shipment_id } = reply.data;
    // An id that becomes this one by a second decoding names nothing.
    for (const [path, known] of [
      ["/v2/credential-requests", credential_request_id],
      ["/v1/credential-requests", credential_request_id],
      ["/v1/fpr/shipments", shipment_id],
    ]) {
      const encoded = (text: string) => `%${text.charCodeAt(0).toString(16)}${text.slice(1)}`;
      const twice = encoded(known).replace("%", "%25");
      expect((await call(`GET ${path}/${twice}`)).status, `${path}/${twice}`).toBe(404);
      expect((await call(`GET ${path}/${encoded(known)}`)).status, path).toBe(200);
    }
    // A UUID is the same in any case (RFC 9562). The ids of shipments are none.
    const upper = credential_request_id.toUpperCase();
    for (const [route, { endpoint }] of ofRequest) {
      const one = route.replace(id, upper);
      // A cancel would end the request of this test. The key of the others is unknown, whatever the request is.
      if (endpoint.body !== undefined || /cancel|security-keys/.test(route)) continue;
      expect((await call(one)).status, one).not.toBe(404);
    }
    const { body: events } = await call(`GET /v2/credential-requests/${upper}/events`);
    expect(events).toEqual({ data: [], sinks: [] });
    const users = body.shipment.shipment_items.map((item: Body) => item.credentials);
    const credential = (item: number, index: number) => ({
      idp_id: "entra",
      relying_party_id: "login.microsoft.com",
      user_id: users[item][index].user_id,
      state: "processing",
    });
    expect(await call(`GET /v2/credential-requests/${credential_request_id}`)).toMatchObject({
      status: 200,
      body: {
        data: {
          credential_request_id,
          state: "started",
          shipment: {
            shipment_id,
            shipment_items: [
              { id: "s-01-001", name: "Key 1", state: "processing", credentials: [credential(0, 0), credential(0, 1)] },
              { id: "s-02-001", name: "Pre-Reg Key", state: "processing", credentials: [credential(1, 0)] },
            ],
            mailing_address: body.shipment.mailing_address,
          },
        },
      },
    });
  });

  it("ignores unknown fields and names them, and takes null for absent", async () => {
    const body = altered(orderBody(), {
      "recipient.company": null,
      "recipient.nick-name": "Ada",
      "shipment.shipment_items[0].pin_requst": { length: 8 },
      ünknown: 1,
    });
    const { status, headers } = await call(create, { body });
    expect(status).toBe(201);
    expect(headers.get("x-ignored-fields")?.split(", ").map(decodeURIComponent).toSorted()).toEqual(
      ["recipient.nick-name", "shipment.shipment_items[0].pin_requst", "(name not shown)"].toSorted(),
    );
  });
});

describe("GET /v2/status", () => {
  it("reports exactly the listed keys as strings, and every configured identity provider without secrets", async () => {
    const { status, body } = await call("GET /v2/status");
    expect(status).toBe(200);
    const { IDP_CONFIGURATIONS, ...texts } = body;
    expect(Object.keys(texts).toSorted()).toEqual([...statusKeysV2].toSorted());
    for (const [name, text] of Object.entries(texts)) expect(text, name).toBeTypeOf("string");
    expect(texts).toMatchObject({
      CRON_PROCESS_SHIPMENT_SCHEDULE: "0 0 * * * *",
      CRON_PROCESS_CREDENTIAL_REQUESTS_SCHEDULE: "0 0 * * * *",
      CRON_DATA_CLEANUP_SCHEDULE: "0 30 * * * *",
      CRON_DATA_CLEANUP_COMPLETED_DAYS: "30",
      CLOUD_TABLES_SHIPMENTS_TABLE_NAME: "fprshipments",
      RFPR_RETRY_NUMBER_DAYS: "14",
      RFPR_API_BASE_URL: peers.rfpr.url,
      IDP_CONFIGURATION_PATH: "",
      IDP_DEFAULT: "entra",
      IDP_ENABLE_MULTI_IDP: "false",
      EMAIL_API_SEND_ENDPOINT: `${peers.mail.url}/send`,
      FIDO_CONNECTOR_VERSION: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
    expect(IDP_CONFIGURATIONS).toEqual({
      entra: {
        type: "entra",
        "api-version": "beta",
        "challenge-timeout-minutes": 20160,
        "client-id": expect.any(String),
        "tenant-id": peers.issuer.tenantId,
        "graph-endpoint": peers.entra.url,
        "online-endpoint": peers.entra.url,
      },
    });
    expect(JSON.stringify(body)).not.toMatch(/secret|accesskey|token/i);
  });
});

describe("any call", () => {
  const json = fc.jsonValue({ maxDepth: 4 }).map(value => value as Body);
  /** Every place in a body. */
  const placesIn = (value: unknown, at: readonly string[] = []): string[][] =>
    Object.entries(Object(value)).flatMap(([name, member]) =>
      typeof member === "string" ? [[...at, name]] : [[...at, name], ...placesIn(member, [...at, name])],
    );
  const places = [...placesIn(orderBody()), ["authenticators"], ["__proto__"], ["unknown"]];
  /** A body that was good until something was put somewhere. */
  const damaged = fc
    .tuple(fc.constantFrom(...places), fc.oneof(json, fc.string({ unit: "binary" }), fc.constant(undefined)))
    .map(([path, value]) => {
      const body: Body = orderBody();
      const holder = path.slice(0, -1).reduce((at: Body, step) => at[step], body);
      const last = path.at(-1) ?? "";
      Object.defineProperty(holder, last, { value, enumerable: true, configurable: true, writable: true });
      return body;
    });
  const bodies = fc.oneof(
    { weight: 2, arbitrary: json },
    { weight: 1, arbitrary: fullBodies },
    { weight: 5, arbitrary: damaged },
  );

  it("a create answers 201 or names what is wrong, and stores nothing that it refuses as invalid", async () => {
    const before = await countRequests();
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(bodies, async body => {
        const { status, body: reply } = await call(create, { body });
        expect(status).toBeOneOf([201, 400]);
        if (status === 400 && reply.error_code === "api_error") {
          expect(reply.error_data.error_type).toBe("validation");
        } else if (reply.error_code !== "delivery_error" || reply.error_data.code !== "validation_error") taken++;
      }),
      { numRuns: 100 },
    );
    expect((await countRequests()) - before).toBe(taken);
  });

  it("every endpoint answers below 500 for any path, query and body", async () => {
    const anything = fc.record({
      endpoint: fc.constantFrom(...endpoints),
      parameter: fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).filter(text => text.isWellFormed()),
      query: fc.string({ maxLength: 30 }),
      body: fc.oneof(json, fc.string()),
    });
    await fc.assert(
      fc.asyncProperty(anything, async ({ endpoint: { route }, parameter, query, body }) => {
        const path = route.replace(id, encodeURIComponent(parameter).replaceAll("%00", "%01"));
        const sent = route.startsWith("GET") ? {} : { body };
        const { status } = await call(`${path}?${encodeURI(query).replaceAll("#", "%23")}`, sent);
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 100 },
    );
  });

  it("a user's name of any letters reaches the identity provider or is refused", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }), async name => {
        const body = altered(orderBody(), { "shipment.shipment_items[0].credentials[0].user_id": name });
        expect((await call(create, { body })).status).toBeOneOf([201, 400]);
      }),
      { numRuns: 15 },
    );
  });
});

it("an unknown path or a wrong method is the host's 404", async () => {
  for (const route of ["GET /v3/status", "DELETE /v2/status", "POST /v2/operations/process-shipments", "GET /v2"]) {
    const [method = "", path] = route.split(" ");
    const { status } = await fetch(host.url + path, {
      method,
      headers: { authorization: `Bearer ${host.tokens.connector}` },
    });
    expect(status, route).toBe(404);
  }
});
