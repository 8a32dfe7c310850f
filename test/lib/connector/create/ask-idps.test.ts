import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { days, plus, seconds } from "../../../../lib/platform/time.ts";
import { idpFile } from "../../../../local/peers/all.ts";
import { mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import {
  onChallenge,
  orderBody,
  peersOfFile,
  refusalOf,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { altered } from "../api/bodies.ts";

const peers = await peersOfFile();
const directory = mkdtempSync(join(tmpdir(), "challenges-"));
afterAll(() => rmSync(directory, { recursive: true }));
beforeEach(() => {
  peers.entra.settings({ grantedMinutes: 43_200 });
  peers.aic.settings({ journeySeconds: 14 * 86_400 });
});

const ordered = () => peers.delivery.count("POST", /shipments$/);
const enrolled = () => peers.rfpr.count("PUT", /authenticator-requests/);

/** A connector with all three IdPs, some settings of which a test changes. */
async function withIdps(changes: Record<string, Record<string, unknown>> = {}, defaultId = "entra") {
  const path = join(directory, `${Math.random()}.yaml`);
  const idps = parse(idpFile(peers)) as Record<string, object>;
  writeFileSync(
    path,
    stringify(Object.fromEntries(Object.entries(idps).map(([id, idp]) => [id, { ...idp, ...changes[id] }]))),
  );
  const settings = { IDP_ENABLE_MULTI_IDP: "true", IDP_CONFIGURATION_PATH: path, IDP_DEFAULT: defaultId };
  return testConnector(peers, { settings });
}

/** Expects that a create is refused as an error of the IdP, that nothing was ordered, and that the request ended failed. */
async function expectRefused(connector: TestConnector, order: Promise<unknown>, message: RegExp) {
  const { status, body } = await refusalOf(order);
  expect({ status, body }).toEqual({
    status: 400,
    body: { error_code: "idp_error", error_message: expect.stringMatching(message) },
  });
  expect([ordered(), enrolled()]).toEqual([0, 0]);
  expect(connector.events("idp_options_refused")).toEqual([
    expect.objectContaining({ idp: expect.any(String), detail: expect.any(String) }),
  ]);
  const [entry, ...others] = await connector.queue("clean");
  expect(others).toEqual([]);
  expect(await connector.read(entry?.requestId ?? "")).toMatchObject({ state: "failed" });
}

describe("a shipment whose challenge ends before its security keys can be programmed", () => {
  const version1 = { entra: { "api-version": "v1.0" } };
  const tooShort =
    /^The challenge of the identity provider entra ends at \d{4}-\d\d-\d\dT[\d:.]+Z, before a shipped security key can be programmed \(\d{4}-[^)]+Z\)\. Set api-version to beta/;

  test.each([
    ["version 1.0 of Microsoft Graph", "entra", version1, tooShort],
    [
      "a journey of 300 seconds, the default of AM",
      "aic",
      {},
      /provider aic .* Raise the maximum duration of the journey/,
    ],
    [
      "PingOne's time-out",
      "pingone",
      { pingone: { "pre-registration-timeout-days": 3 } },
      /provider pingone .* Raise pre-registration-timeout-days/,
    ],
  ])("is refused with %s, also beside authenticators, which are not sent", async (_, idp, changes, message) => {
    peers.aic.settings({ journeySeconds: 300 });
    const connector = await withIdps(changes, idp);
    await expectRefused(connector, connector.order(mixedBody()), message);
  });

  test("is refused if Microsoft Graph grants less than it is asked for, which is logged", async () => {
    peers.entra.settings({ grantedMinutes: 5 });
    const connector = await withIdps();
    await expectRefused(
      connector,
      connector.order(orderBody([2])),
      /identity provider entra .* Raise challenge-timeout-minutes/,
    );
    expect(connector.events("challenge_shortened")).toEqual([
      expect.objectContaining({ idp: "entra", expiresAt: expect.any(String), askedExpiry: expect.any(String) }),
    ]);
  });

  test("is refused if one of two IdPs on one security key is too short, and compensated at the other", async () => {
    const connector = await withIdps(version1, "pingone");
    const at = "shipment.shipment_items[0].credentials";
    const body = altered(orderBody([2]), { [`${at}[1].idp_id`]: "entra" });
    await expectRefused(connector, connector.order(body), tooShort);
    expect(peers.pingone.count("DELETE", /devices\/[^/]+$/)).toBe(1);
  });

  test.each([
    [0, "refused"],
    [1, "ordered"],
  ])("is judged by the first poll and DELIVERY_PRODUCTION_DAYS: %i ms later it is %s", async (ms, outcome) => {
    const connector = await testConnector(peers, {
      settings: { POLL_AFTER_SECONDS: "7200", DELIVERY_PRODUCTION_DAYS: "2.5" },
      ports: onChallenge((_, clock) => ({ expiresAt: new Date(plus(clock.now(), seconds(7200) + days(2.5) + ms)) })),
    });
    if (outcome === "refused") await expectRefused(connector, connector.order(), /before a shipped security key/);
    else expect(await connector.order()).toMatchObject({ shipmentId: expect.any(String) });
  });

  test("is ordered without a log line if the IdP grants a few minutes less than it is asked for", async () => {
    peers.entra.settings({ grantedMinutes: 20_156 });
    const connector = await withIdps();
    expect(await connector.order()).toMatchObject({ shipmentId: expect.any(String) });
    expect(connector.events("challenge_shortened")).toEqual([]);
  });
});

describe("an authenticator on site", () => {
  test("may have a challenge of 5 minutes, because a call can activate it in time, and the log says so", async () => {
    const connector = await testConnector(peers, {
      settings: { IDPA_FIDO_API_VERSION: "v1.0" },
      limits: { enrollmentPoll: { minMs: 600_000, maxMs: 600_000 } },
    });
    const { requestId } = await connector.order(onSiteBody());
    expect(await connector.read(requestId)).toMatchObject({ state: "started" });
    expect(connector.events("challenge_before_poll")).toMatchObject([{ idp: "entra" }]);
  });

  test.each([
    [0, "refused"],
    [1, "accepted"],
  ])("needs a challenge that has not ended: with one of %i ms it is %s", async (ms, outcome) => {
    const connector = await testConnector(peers, {
      ports: onChallenge((_, clock) => ({ expiresAt: new Date(plus(clock.now(), ms)) })),
    });
    const order = connector.order(onSiteBody());
    if (outcome === "refused") await expectRefused(connector, order, /and is over already: compare the clocks\./);
    else expect(await order).toMatchObject({ requestId: expect.any(String) });
  });
});

// idp/creation-options.test.ts has the members that are refused.
describe("creation options that are of no use for a shipped security key", () => {
  /** A connector whose Microsoft Graph answers with some other members. */
  const publicKeyWith = (members: object) =>
    testConnector(peers, {
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (!String(url).includes("creationOptions")) return response;
        const body = (await response.json()) as { readonly publicKey: object };
        return Response.json({ ...body, publicKey: { ...body.publicKey, ...members } });
      },
    });

  test("are unreadable: 400 idp_error that names the member, and the IdP is not asked again", async () => {
    const connector = await publicKeyWith({ rp: { id: "https://login.microsoft.com" } });
    const message = /^The creation options of the identity provider entra are not usable: rp\.id .*is no domain$/;
    await expectRefused(connector, connector.order(), message);
    expect(peers.entra.count("GET", /creationOptions/)).toBe(1);
  });

  test("ask for a platform authenticator: 400 idp_error, while an authenticator on site is accepted", async () => {
    const connector = await publicKeyWith({ authenticatorSelection: { authenticatorAttachment: "platform" } });
    await expectRefused(connector, connector.order(), /entra asks for a platform authenticator/);
    expect(await connector.order(onSiteBody())).toMatchObject({ requestId: expect.any(String) });
  });
});
