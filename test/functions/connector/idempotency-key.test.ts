import { describe, expect, it } from "vitest";
import { connector } from "../../../functions/connector/routes.ts";
import { audience } from "../../../local/peers/all.ts";
import type { Body } from "../../lib/connector/api/bodies.ts";
import { shipmentBodyV1 } from "../../lib/connector/api/shipment-body-v1.ts";
import { connectorHostOfFile } from "../../support/connector/host.ts";
import { newUser, orderBody, peersOfFile } from "../../support/connector/test-connector.ts";
import { storedText } from "../../support/storage/stored-text.ts";

const peers = await peersOfFile();
const host = connectorHostOfFile(peers);

const bodies: Readonly<Record<string, () => Body>> = {
  "POST /v2/credential-requests": orderBody,
  "POST /v1/fpr/shipments": shipmentBodyV1,
  "POST /v1/credential-requests": () => ({
    recipient: { firstname: "Ada", lastname: "Lovelace", email: newUser() },
    credentials: [{ user_id: newUser() }],
    pin_request: {},
    enrollment_contacts: { emails_to: [newUser()] },
  }),
};

/** Every endpoint that creates. */
const creates = Object.values(connector.endpoints).flatMap(({ routes, answers }) =>
  201 in answers ? routes.filter(route => !route.includes("/api-tokens")) : [],
);

it("every create of the API is tried here", () => {
  for (const route of creates) expect(Object.keys(bodies)).toContain(route);
});

describe.each(creates)("the Idempotency-Key of %s", route => {
  const body = () => bodies[route]?.();

  it("makes repeats answer alike, another body 409, and a second request of another key, as long as it may be, or none", async () => {
    const sent = body();
    const keyed = { body: sent, headers: { "Idempotency-Key": `"${crypto.randomUUID()}"` } };
    const first = await host.call(route, keyed);
    expect(first.status).toBe(201);
    const again = await host.call(route, keyed);
    expect({ status: again.status, body: again.body }).toEqual({ status: 201, body: first.body });
    expect([first, again].map(({ headers }) => headers.get("idempotent-replayed") ?? undefined)).toEqual([
      undefined,
      "true",
    ]);
    expect(await host.call(route, { ...keyed, body: body() })).toMatchObject({
      status: 409,
      body: { error_code: "api_error", error_data: { error_type: "conflict" } },
    });
    const other = await host.call(route, { body: sent, headers: { "Idempotency-Key": "~".repeat(255) } });
    const plain = await host.call(route, { body: sent });
    expect(new Set([first, other, plain].map(({ body }) => JSON.stringify(body))).size).toBe(3);
  });

  it("belongs to its caller: another application's and another subject's are others", async () => {
    const sent = body();
    const headers = { "Idempotency-Key": "shared" };
    const made = new Set<string>();
    for (const azp of ["application-1", "application-2"]) {
      for (const subject of ["subject-1", "subject-2"]) {
        const token = await peers.issuer.mint({ audience, roles: ["Connector.Call"], azp, subject });
        for (let n = 0; n < 2; n++)
          made.add(JSON.stringify((await host.call(route, { body: sent, token, headers })).body));
      }
    }
    expect(made.size).toBe(4);
  });

  it.each(["with", "without"])("%s one, the request's row names its caller", async how => {
    const azp = `application-${crypto.randomUUID()}`;
    const token = await peers.issuer.mint({ audience, roles: ["Connector.Call"], azp, subject: "a-subject" });
    const headers: Record<string, string> = how === "with" ? { "Idempotency-Key": crypto.randomUUID() } : {};
    expect(await host.call(route, { body: body(), token, headers })).toMatchObject({ status: 201 });
    const rows = (await storedText(host.storage)).filter(text => text.includes(azp));
    expect(rows).toHaveLength(1);
    const { createdBy } = JSON.parse(rows[0]?.replace(/^\S+ /, "") ?? "") as { readonly createdBy: string };
    expect(JSON.parse(createdBy)).toEqual({
      kind: "tenant",
      application: azp,
      subject: "a-subject",
      roles: ["call"],
    });
  });

  it.each([
    ["empty", ""],
    ["with a blank", "a b"],
    ["longer than 255 characters", "a".repeat(256)],
    // As UTF-8: the host refuses other bytes before the function.
    ["of other letters", Buffer.from("schl\u00fcssel").toString("latin1")],
    ["repeated", "one, two"],
  ])("is refused with 400 where it is %s, with the body's problems, and nothing is stored", async (_, key) => {
    const before = await storedText(host.storage);
    const { status, body: reply } = await host.call(route, { body: {}, headers: { "Idempotency-Key": key } });
    expect(status).toBe(400);
    const paths = reply.error_data.fields.map(({ path }: Body) => path);
    expect(paths).toContain("Idempotency-Key");
    expect(paths.length).toBeGreaterThan(1);
    expect(await storedText(host.storage)).toEqual(before);
  });
});
