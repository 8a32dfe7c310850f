import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connectDelivery } from "../../../../lib/connector/peers/delivery.ts";
import {
  encodeCredentialRequest,
  encodePinRequest,
  makeResponseKey,
} from "../../../../lib/connector/peers/exchange-messages.ts";
import {
  type AuthenticatorOrder,
  connectEnrollment,
  connectRfpr,
  type Rfpr,
} from "../../../../lib/connector/peers/rfpr.ts";
import { days, plus } from "../../../../lib/platform/time.ts";
import { closePeers, type Peers, startPeers } from "../../../../local/peers/all.ts";
import { failureOf, kindOf, oddPeer, type TestTools, testTools } from "../../../support/connector/peer-tools.ts";
import { resetPeers } from "../../../support/connector/reset-peers.ts";
import { deadAddress } from "../../../support/dead-address.ts";

let peers: Peers;
let tools: TestTools;
let rfpr: Rfpr;

beforeAll(async () => {
  peers = await startPeers();
});
afterAll(() => closePeers(peers));
beforeEach(() => {
  resetPeers(peers);
  tools = testTools();
  rfpr = connect();
});

/** @param enrollmentUrl where tokens come from */
function connect(changes: Partial<Parameters<typeof connectRfpr>[0]> = {}, enrollmentUrl = peers.enrollment.url): Rfpr {
  const credential = async () => peers.vault.get("enrollment-credential") ?? "";
  const tokens = connectEnrollment({ ...tools, baseUrl: enrollmentUrl, credential, timeLimitMs: 20_000 });
  return connectRfpr({ ...tools, baseUrl: peers.rfpr.url, tokens, timeLimitMs: 20_000, ...changes });
}

let ids = 0;
const newId = () => `request-${++ids}.a-01`;

async function newOrder(): Promise<AuthenticatorOrder> {
  const { url: baseUrl, signJwksUrl, transportJwksUrl } = peers.delivery;
  const urls = { baseUrl, signJwksUrl, transportJwksUrl };
  const delivery = connectDelivery({ ...tools, ...urls, token: async () => "", timeLimitMs: 20_000 });
  const transportKeys = await delivery.transportKeys();
  const [responseKey, pinKey] = await Promise.all([makeResponseKey(), makeResponseKey()]);
  const options = {
    rp: { id: "login.example", name: "Example" },
    user: { id: "dXNlcg", name: "jan@example.com", displayName: "Jan" },
    challenge: randomBytes(32).toString("base64url"),
    pubKeyCredParams: [{ type: "public-key" as const, alg: -7 }],
  };
  const route = (responseKey: Parameters<typeof encodePinRequest>[1]["responseKey"]) => ({
    transportKeys,
    responseKey,
    random: tools.random,
  });
  const recipient = { externalId: "jan", email: "jan@example.com", firstName: "", lastName: "Lindberg" };
  return {
    request: { recipient: { ...recipient, company: "", telephone: "" }, emailsTo: ["jan@example.com"] },
    key: { name: "Desk key", pinRequest: { length: 6, entryMethod: "generated", deliveryMethod: "email" } },
    requests: {
      pinRequest: await encodePinRequest(6, route(pinKey.publicJwk)),
      credentialRequests: [
        await encodeCredentialRequest({ options, origin: "https://login.example" }, route(responseKey.publicJwk)),
      ],
    },
    expiresAt: plus(tools.now(), days(14)),
  };
}

test("an authenticator is not read from an answer with another one", async () => {
  peers.rfpr.fail({ kind: "nonsense", body: { id: "a", state: "cancelled" }, times: 4 });
  expect(await rfpr.get("a")).toMatchObject({ state: "cancelled" });
  expect(await failureOf(rfpr.get("b"))).toMatchObject({
    kind: "unanswered",
    detail: "The response cannot be read: id",
  });
});

describe("the enrollment service", () => {
  test("exchanges the credential in a form, never in a URL, with or without a slash in the address", async () => {
    const { url, calls } = await oddPeer(() => ({ status: 200, body: { access_token: "t", expires_in: "900" } }));
    for (const baseUrl of [`${url}/base`, `${url}/base/`]) await connect({}, baseUrl).authenticate();
    const form = {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: peers.vault.get("enrollment-credential"),
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
    };
    for (const { url, headers, body } of calls) {
      expect(url.pathname + url.search).toBe("/base/v1/token");
      expect(headers["content-type"]).toBe("application/x-www-form-urlencoded");
      expect(Object.fromEntries(new URLSearchParams(String(body)))).toEqual(form);
    }
    expect(calls).toHaveLength(2);
  });

  test("prevents the call if it does not accept the credential or is unavailable", async () => {
    peers.enrollment.fail({ kind: "refuse", status: 400, body: { error: "invalid_grant" } });
    const failure = await failureOf(rfpr.get(newId()));
    expect(failure).toMatchObject({ peer: "enrollment service", kind: "unauthorized", code: "invalid_grant" });
    expect(await kindOf(connect({}, deadAddress).get(newId()))).toBe("unreachable");
    expect(peers.rfpr.requests()).toEqual([]);
  });

  test("is called again when a token is refused, and the call is repeated once", async () => {
    const id = newId();
    await rfpr.put(id, await newOrder());
    tools.advance(60_000);
    peers.enrollment.revokeTokens();
    expect(await rfpr.get(id)).toMatchObject({ state: "waiting" });
    tools.advance(60_000);
    peers.rfpr.fail({ kind: "refuse", status: 401, times: 3 });
    peers.rfpr.resetRequests();
    expect(await failureOf(rfpr.get(id))).toMatchObject({
      peer: "pre-registration API",
      kind: "unauthorized",
      status: 401,
    });
    expect([peers.rfpr.requests().length, peers.enrollment.count("POST", /token/)]).toEqual([2, 3]);
  });
});

describe("the pre-registration API", () => {
  test("accepts a request, the same request again, but no other one with its id", async () => {
    const id = newId();
    const order = await newOrder();
    await rfpr.put(id, order);
    await rfpr.put(id, order);
    expect(await rfpr.get(id)).toEqual({ state: "waiting", responses: { credentials: [] }, message: undefined });
    expect(await failureOf(rfpr.put(id, { ...order, key: { ...order.key, name: "Other" } }))).toMatchObject({
      kind: "refused",
      status: 409,
      code: "conflict",
    });
  });

  test.each([
    ["dropped", { kind: "drop", phase: "after" }],
    ["answered 502", { kind: "refuse", status: 502, phase: "after" }],
    ["throttled", { kind: "throttle", retryAfter: 1 }],
    ["answered nonsense", { kind: "nonsense", phase: "after" }],
  ] as const)("gets the same request again after it was %s, with the same result", async (_, fault) => {
    const id = newId();
    peers.rfpr.fail({ ...fault, method: "PUT" });
    await rfpr.put(id, await newOrder());
    peers.rfpr.fail({ ...fault, method: "POST" });
    await rfpr.cancel(id);
    expect((await rfpr.get(id)).state).toBe("cancelled");
    peers.rfpr.fail({ ...fault, method: "DELETE" });
    await rfpr.remove(id);
    expect(peers.rfpr.requests().map(({ method }) => method)).toEqual([
      "PUT",
      "PUT",
      "POST",
      "POST",
      "GET",
      "DELETE",
      "DELETE",
    ]);
  });

  test("is not called again after a long Retry-After", async () => {
    peers.rfpr.fail({ kind: "throttle", retryAfter: 300 });
    expect(await failureOf(rfpr.get(newId()))).toMatchObject({ kind: "throttled", retryAfterSeconds: 300 });
    expect(peers.rfpr.requests()).toHaveLength(1);
  });

  test("refuses a deleted request, also if it was deleted before it arrived", async () => {
    const id = newId();
    await rfpr.remove(id);
    await rfpr.remove(id);
    const gone = { kind: "refused", status: 410, code: "gone" };
    expect(await failureOf(rfpr.put(id, await newOrder()))).toMatchObject(gone);
    expect(await failureOf(rfpr.get(id))).toMatchObject(gone);
    expect(await failureOf(rfpr.cancel(id))).toMatchObject(gone);
    expect(await kindOf(rfpr.get(newId()))).toBe("missing");
  });

  test("returns the responses in order, blank for a failed credential, and does not cancel a completed request", async () => {
    const id = newId();
    const [first, second] = await Promise.all([newOrder(), newOrder()]);
    const credentialRequests = [first, second].flatMap(({ requests }) => requests.credentialRequests);
    await rfpr.put(id, { ...first, requests: { ...first.requests, credentialRequests } });
    const { serialNumber } = await peers.rfpr.enroll(id, { fails: [0] });
    const { state, responses, message } = await rfpr.get(id);
    const jwe = expect.stringMatching(/^eyJ/);
    expect(state).toBe("completed");
    expect(responses).toEqual({ serial: serialNumber, firmware: "5.7.4", pinResponse: jwe, credentials: ["", jwe] });
    expect(message).toMatch(/^Credential 1 cannot be made/);
    expect(await failureOf(rfpr.cancel(id))).toMatchObject({ kind: "refused", status: 409 });
  });

  test("is not called after notAfter", async () => {
    const late = { notAfter: plus(tools.now(), -1) };
    expect(await kindOf(rfpr.put(newId(), await newOrder(), late))).toBe("unreachable");
    expect(peers.rfpr.requests()).toEqual([]);
  });

  test("ends at the time limit", async () => {
    peers.rfpr.fail({ kind: "hang" });
    await connect().authenticate();
    expect(await kindOf(connect({ timeLimitMs: 300 }).get(newId()))).toBe("unanswered");
  });

  const answer = (body: unknown, times = 1) => peers.rfpr.fail({ kind: "nonsense", body, times });

  test.each([
    [{ state: "unheard-of" }],
    [{ credential_responses: [] }],
    [{ state: "completed", credential_responses: "none" }],
    [[]],
    ["null"],
  ])("is unanswered for the body %j", async body => {
    answer(body, 3);
    expect(await kindOf(rfpr.get("id"))).toBe("unanswered");
  });

  test("has removed nothing if it answers 200 with an error, as a gateway may", async () => {
    answer({ code: "unavailable", message: "Try again." }, 3);
    expect(await kindOf(rfpr.remove("id"))).toBe("unanswered");
    for (const body of [{}, { id: "id", state: "cancelled" }]) {
      answer(body);
      await rfpr.remove("id");
    }
  });

  test("may send numbers as text, null for absent members, and messages, which are put on one line", async () => {
    const body = {
      state: "completed",
      serial_number: 4711,
      firmware_version: null,
      pin_response: "",
      credential_responses: [null, "", "a.b"],
      error_message: `Broken\r\n${"x".repeat(600)}`,
    };
    answer(body);
    const { responses, message = "" } = await rfpr.get("id");
    expect(responses).toEqual({ serial: "4711", credentials: ["", "", "a.b"] });
    expect([message.slice(0, 8), message.length, /[\r\n]/.test(message)]).toEqual(["Broken x", 499, false]);
  });
});
