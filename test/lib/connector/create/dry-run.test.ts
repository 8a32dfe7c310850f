import { afterEach, describe, expect, test } from "vitest";
import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import { dryRun } from "../../../../lib/connector/create/dry-run.ts";
import type { Peer } from "../../../../local/peers/peer.ts";
import { everyIdpOfFile } from "../../../support/connector/in-a-state.ts";
import { authenticator, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  idpsOf,
  newUser,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { altered, type Body } from "../api/bodies.ts";

const peers = await peersOfFile();
const everyPeer: readonly Peer[] = Object.values(peers);
afterEach(() => {
  peers.entra.settings({ policy: {}, readsUsers: true, readsPolicies: true });
  peers.pingone.settings({ maxDevices: 5, readsSettings: true });
});

/** A connector with all three IdPs. */
const everyIdp = everyIdpOfFile(peers);
const connectorOfAll = ({ settings, ...options }: ConnectorOptions = {}): Promise<TestConnector> =>
  testConnector(peers, { ...options, settings: { ...everyIdp, ...settings } });

const run = ({ context }: TestConnector, body: unknown) => {
  const { body: _, ...draft } = createBodyV2.parse(body);
  return dryRun(draft, context);
};
/** Returns the codes of the problems by their paths. */
async function problems(connector: TestConnector, body: unknown, status = 400): Promise<Record<string, string>> {
  const { status: answered, body: answer } = await refusalOf(run(connector, body));
  expect(answered).toBe(status);
  return Object.fromEntries((answer as Body).error_data.fields.map(({ path, code }: Body) => [path, code]));
}
const first = "shipment.shipment_items[0].credentials[0].user_id";
const forUsers = (...credentials: { readonly user_id: string; readonly idp_id?: string }[]) =>
  altered(orderBody(), { "shipment.shipment_items[0].credentials": credentials });
/** Calls that could change something at a peer: all but reads, tokens, and the steps of a journey, which keeps no state. */
const writes = () =>
  everyPeer.flatMap(peer =>
    peer
      .requests()
      .filter(({ method, path }) => method !== "GET" && !/token$|\/authenticate$/.test(path))
      .map(({ method, path }) => `${peer.name} ${method} ${path}`),
  );

describe("a dry run", () => {
  test("of a request at every IdP stores nothing, orders nothing, and begins nothing", async () => {
    const connector = await connectorOfAll();
    const credentials = ["entra", "pingone", "aic"].map(idp_id => ({ idp_id, user_id: newUser() }));
    const body = altered(mixedBody(), {
      "shipment.shipment_items[0].credentials": credentials,
      "authenticators[0].credentials": credentials,
    });
    const { total, result } = await connector.counted(() => run(connector, body));
    expect(total).toBe(0);
    expect(writes()).toEqual([]);
    expect(result).toEqual([
      {
        path: first,
        reason:
          "is in a tenant that takes only models of the FIDO Metadata Service: check your model (identity provider entra)",
        code: "attestation_enforced",
      },
    ]);
    await connector.order(body);
  });

  test("names every problem at once: of fields, of the delivery service's limits, of users at their IdPs", async () => {
    const connector = await connectorOfAll({ settings: { PIN_MIN_LENGTH: "8", PIN_MAIL_DOMAINS: "example.com" } });
    const at = (idp_id: string, user_id: string) => ({ idp_id, user_id });
    const gone = "00000000-0000-4000-8000-0000000000ff";
    peers.pingone.setUser(gone, "unknown");
    peers.pingone.setUser("mfa@example.com", "without_mfa");
    const items = [
      at("entra", "unknown@example.com"),
      at("entra", "guest@example.com"),
      at("entra", "blocked@example.com"),
      at("pingone", gone),
      at("pingone", "mfa@example.com"),
      at("aic", "unknown@example.com"),
      at("none", "ada@example.com"),
    ];
    const body = altered(mixedBody([1], [authenticator(1, { pin_request: { min_length: 7 } })]), {
      "recipient.last_name": "Featherstonehaugh-Cholmondeley",
      "enrollment_contacts.emails_to[0]": "ada@example.org",
      "shipment.mailing_address.city": "x".repeat(61),
      "shipment.shipment_items[0].credentials": items,
    });
    expect(await problems(connector, body)).toEqual({
      "shipment.shipment_items[0].credentials[6].idp_id": undefined,
      "enrollment_contacts.emails_to[0]": undefined,
      "shipment.shipment_items[0].pin_request.length": undefined,
      "authenticators[0].pin_request.min_length": undefined,
      "recipient.last_name": "validation_error",
      "shipment.mailing_address.city": "validation_error",
      [first]: "user_unknown",
      "shipment.shipment_items[0].credentials[1].user_id": "user_guest",
      "shipment.shipment_items[0].credentials[2].user_id": "options_refused",
      "shipment.shipment_items[0].credentials[3].user_id": "user_unknown",
      "shipment.shipment_items[0].credentials[4].user_id": "mfa_disabled",
      "shipment.shipment_items[0].credentials[5].user_id": "options_refused",
    });
    expect(writes()).toEqual([]);
  });

  test("names a challenge that ends before a shipped key can be programmed, and not that of a key on site", async () => {
    const connector = await testConnector(peers, { settings: { IDPA_FIDO_API_VERSION: "v1.0" } });
    expect(await problems(connector, orderBody())).toEqual({ [first]: "challenge_unsuitable" });
    const answer = await refusalOf(run(connector, orderBody()));
    expect((answer.body as Body).error_data.fields[0].reason).toMatch(
      /^cannot get a usable challenge: The challenge of .* Set api-version to beta/,
    );
    expect(await run(connector, onSiteBody())).toHaveLength(1);
  });

  test("refuses more devices than PingOne allows", async () => {
    const connector = await connectorOfAll();
    const user = newUser();
    const at = (idp_id: string) => authenticator(1, { credentials: [{ idp_id, user_id: user }] });
    const keys = (idp: string, count: number) => Array.from({ length: count }, () => at(idp));
    peers.pingone.settings({ maxDevices: 2 });
    expect(await problems(connector, onSiteBody(keys("pingone", 3)))).toEqual({
      "authenticators[0].credentials[0].user_id": "too_many_credentials",
    });
    await run(connector, onSiteBody(keys("pingone", 2)));
  });

  test("warns of each disabled user, and orders for them: they may join later", async () => {
    const connector = await connectorOfAll();
    const users = [
      { idp_id: "entra", user_id: newUser() },
      { idp_id: "entra", user_id: newUser() },
      { idp_id: "pingone", user_id: newUser() },
    ];
    for (const { idp_id, user_id } of users)
      (idp_id === "entra" ? peers.entra : peers.pingone).setUser(user_id, "disabled");
    const warnings = await run(connector, forUsers(...users));
    const disabled = warnings.filter(({ code }) => code === "user_disabled");
    expect(disabled.map(({ path }) => path)).toEqual(
      users.map((_, index) => `shipment.shipment_items[0].credentials[${index}].user_id`),
    );
    const { requestId } = await connector.order(forUsers(...users));
    expect((await connector.read(requestId)).state).toBe("started");
  });

  test("of which an IdP does not answer says what could not be checked: 503, and 400 beside any refusal", async () => {
    const connector = await connectorOfAll();
    peers.pingone.fail({ kind: "drop", path: "/users", times: 50 });
    const user = { idp_id: "pingone", user_id: newUser() };
    expect(await problems(connector, forUsers(user), 503)).toEqual({ [first]: "not_checked" });
    expect(await refusalOf(run(connector, forUsers(user)))).toMatchObject({ headers: { "retry-after": "30" } });
    peers.entra.setUser("gone@example.com", "unknown");
    const both = forUsers(user, { idp_id: "entra", user_id: "gone@example.com" });
    expect(Object.values(await problems(connector, both))).toEqual(["user_unknown", "not_checked"]);
  });

  test.each([
    ["creation options", "creationOptions"],
    ["the account", "/users/[^/]+$"],
    ["the policy", "/policies/"],
  ])("says that an IdP that throttles could not check %s, and when it can be asked again", async (_, path) => {
    const connector = await testConnector(peers);
    peers.entra.fail({ kind: "throttle", retryAfter: 77, path, times: 50 });
    expect(await refusalOf(run(connector, orderBody()))).toMatchObject({
      status: 503,
      headers: { "retry-after": "77" },
      body: { error_data: { fields: [{ path: first, code: "not_checked" }] } },
    });
  });

  test("warns once of what concerns all users, and of missing permissions, which prevents nothing", async () => {
    peers.entra.settings({
      readsUsers: false,
      policy: { isAttestationEnforced: false, excludeTargets: [{ id: "3f2b" }] },
    });
    const warnings = await run(await testConnector(peers), orderBody([3, 2]));
    expect(warnings.map(({ path, code }) => [path, code])).toEqual([
      [first, "right_missing"],
      [first, "groups_only"],
    ]);
  });

  test("of an IdP that keeps state never requests creation options", async () => {
    const connector = await testConnector(peers, {
      ports: context => ({ idps: idpsOf(context, () => ({ compensateUnanswered: async () => {} })) }),
    });
    await run(connector, orderBody());
    expect(peers.entra.count("GET", /creationOptions/)).toBe(0);
  });
});
