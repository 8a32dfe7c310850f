import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Delivery, startDelivery } from "../../../../local/peers/delivery/delivery.ts";
import { type Rfpr, startRfpr } from "../../../../local/peers/enrollment/rfpr.ts";
import { RP_ID } from "../delivery/requester.ts";
import { createRfprCaller } from "./requester.ts";

const byMail = { min_length: 6, entry_method: "generated", delivery_method: "email" } as const;
let directory: string;
let delivery: Delivery;
let rfpr: Rfpr;
let api: ReturnType<typeof createRfprCaller>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "rfpr-"));
  delivery = await startDelivery({ token: "delivery-token" });
  rfpr = await startRfpr({
    isValid: token => token === "own-token",
    maker: delivery.maker,
    statePath: join(directory, "rfpr.json"),
  });
  api = createRfprCaller(delivery, rfpr, () => "own-token");
});
afterAll(async () => {
  await Promise.all([rfpr.close(), delivery.close()]);
  rmSync(directory, { recursive: true });
});

const listed = (id: string) => rfpr.authenticatorRequests().find(each => each.id === id);

describe("putting an authenticator request (docs/peers/enrollment.md)", () => {
  test("two at once are one", async () => {
    const drafted = await api.draft();
    const answers = await Promise.all([1, 2].map(() => api.call("PUT", drafted.id, drafted.body)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 201]);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ["an unknown member", { extra: 1 }, /extra/],
    ["no recipient", { recipient: undefined }, /recipient/],
    ["no address for the mail", { emails_to: [] }, /emails_to/],
    ["an unknown type", { preferred_authenticator_type: "paper" }, /preferred_authenticator_type/],
    ["an invalid time", { expires_at: "soon" }, /expires_at/],
    ["a short PIN", { pin: { ...byMail, min_length: 3 } }, /pin\.min_length/],
    ["no PIN request for a PIN by mail", { pin: byMail }, /pin_request/],
    ["no credential", { credential_requests: [] }, /credential_requests/],
    ["21 credentials", { credential_requests: Array(21).fill("x") }, /credential_requests/],
    ["what is no JWE", { credential_requests: ["x"] }, /credential_requests\.0: is no compact JWE/],
  ])("refuses %s, and keeps nothing", async (_, change, message) => {
    const { id, body } = await api.draft(undefined, 1, change);
    const answer = await api.call("PUT", id, body);
    expect(answer).toMatchObject({ status: 400, body: { code: "validation_error" } });
    expect(answer.body.message).toMatch(message);
    expect((await api.call("GET", id)).status).toBe(404);
  });

  test("refuses a PIN request of another length, one where no PIN is mailed, and a response key that serves twice", async () => {
    const { jwe } = await api.pinRequest(8);
    const { id, body } = await api.draft(byMail);
    expect((await api.call("PUT", id, { ...body, pin_request: jwe })).body.message).toMatch(/length/);
    const inApp = { ...byMail, delivery_method: "app" };
    expect((await api.call("PUT", id, { ...body, pin: inApp })).body.message).toMatch(/pin_request/);
    const [request] = body.credential_requests as string[];
    const twice = await api.call("PUT", id, { ...body, credential_requests: [request, request] });
    expect(twice.body.message).toMatch(/one response key/);
  });

  test("refuses an invalid id, a body that is not JSON, and a caller without a valid token", async () => {
    const { id, body } = await api.draft();
    expect((await api.call("PUT", "a%20b", body)).status).toBe(400);
    expect((await api.call("PUT", "a".repeat(65), body)).status).toBe(400);
    expect((await api.call("PUT", id, "{")).status).toBe(400);
    for (const method of ["PUT", "GET", "DELETE"])
      expect((await api.call(method, id, method === "PUT" ? body : undefined, "wrong")).body.code).toBe("unauthorized");
  });
});

describe("an enrolled authenticator", () => {
  test("with a PIN for the app shows it at the agent until the request is deleted, and sends none", async () => {
    const put = await api.put({ ...byMail, delivery_method: "app" });
    const { shownPin = "" } = await rfpr.enroll(put.id);
    expect(shownPin).toMatch(/^\d{6}$/);
    expect(listed(put.id)?.shownPin).toBe(shownPin);
    expect(rfpr.opens(put.id, shownPin)).toBe(true);
    expect(await api.read(put.id)).not.toHaveProperty("pin_response");
    await api.call("DELETE", put.id);
    expect(listed(put.id)).toBeUndefined();
  });

  test("with a PIN that is not mailed shows it once, to the administrator", async () => {
    const put = await api.put({ ...byMail, delivery_method: "none" });
    const { shownPin = "" } = await rfpr.enroll(put.id);
    expect(rfpr.opens(put.id, shownPin)).toBe(true);
    expect(listed(put.id)?.shownPin).toBeUndefined();
    expect(readFileSync(join(directory, "rfpr.json"), "utf8")).not.toContain(`"${shownPin}"`);
  });

  test("with a PIN of the user's takes it from the least length on, and keeps it to itself", async () => {
    const put = await api.put({ ...byMail, min_length: 8, entry_method: "user_entered" });
    for (const pin of [undefined, "geheim7", "x".repeat(64)])
      await expect(rfpr.enroll(put.id, pin === undefined ? {} : { pin })).rejects.toThrow("8 to 63 characters");
    await expect(rfpr.enroll(put.id, { pin: "geheim-8", insistsOn: 10 })).rejects.toThrow("10 to 63");
    const enrolled = await rfpr.enroll(put.id, { pin: "geheim-8" });
    expect(enrolled).not.toHaveProperty("shownPin", "geheim-8");
    expect(rfpr.opens(put.id, "geheim-8")).toBe(true);
    expect(JSON.stringify([await api.read(put.id), listed(put.id)])).not.toContain("geheim-8");
    expect(readFileSync(join(directory, "rfpr.json"), "utf8")).not.toContain("geheim-8");
  });
});

describe("between the agent and the connector the first one wins", () => {
  test("a request that is cancelled while it is enrolled stays cancelled: no PIN is shown, the authenticator is reset", async () => {
    const put = await api.put({ ...byMail, delivery_method: "app" });
    const begun = rfpr.begin(put.id, {});
    expect((await api.read(put.id)).state).toBe("waiting");
    await api.call("POST", `${put.id}/cancel`);
    await expect(begun.finish()).rejects.toThrow("cancelled already");
    expect(await api.read(put.id)).toEqual({ id: put.id, state: "cancelled" });
    expect(listed(put.id)).not.toHaveProperty("shownPin", expect.any(String));
  });

  test("one that is deleted meanwhile is gone, one whose time is over meanwhile has failed", async () => {
    const [deleted, late] = [await api.put(), await api.put()];
    const both = [rfpr.begin(deleted.id), rfpr.begin(late.id)];
    await api.call("DELETE", deleted.id);
    rfpr.control(late.id, { expire: true });
    const ends = await Promise.allSettled(both.map(begun => begun.finish()));
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect((await api.read(late.id)).state).toBe("failed");
  });

  test("only one agent is at a request", async () => {
    const { id } = await api.put();
    const begun = rfpr.begin(id);
    expect(() => rfpr.begin(id)).toThrow("another agent");
    expect(() => rfpr.control(id, { decline: "" })).toThrow("another agent");
    expect((await begun.finish()).state).toBe("completed");
  });
});

describe("the agent over HTTP", () => {
  test("lists, enrolls and declines, and says what it refuses", async () => {
    const put = await api.put({ ...byMail, min_length: 8, entry_method: "user_entered" }, 2);
    const list = await (await fetch(`${rfpr.url}/_control/authenticator-requests`)).json();
    expect(list).toContainEqual(
      expect.objectContaining({
        id: put.id,
        state: "waiting",
        begun: false,
        pin: { minLength: 8, entryMethod: "user_entered", deliveryMethod: "email" },
        credentials: Array(2).fill({ relyingParty: RP_ID, user: "jan@example.com" }),
      }),
    );
    const path = `authenticator-requests/${put.id}`;
    const short = await api.control(`${path}/enroll`, { pin: "1234" });
    expect([short.status, await short.json()]).toEqual([
      400,
      { code: "validation_error", message: "pin: the user enters 8 to 63 characters" },
    ]);
    expect((await api.control(`${path}/enroll`, { pin: "12345678", authenticator: "paper" })).status).toBe(400);
    expect((await api.control(`${path}/enroll`, { pin: "12345678" })).status).toBe(200);
    expect((await api.control(path, { decline: "" })).status).toBe(409);
    expect((await api.control(path, { sabotage: "garbage" })).status).toBe(204);
    expect((await api.control("authenticator-requests/unknown/enroll")).status).toBe(404);
  });

  test("that is eager enrolls what is requested, also a PIN of the user", async () => {
    const [mailed, entered] = [await api.put(byMail), await api.put({ ...byMail, entry_method: "user_entered" })];
    expect((await api.control("settings", { eager: true })).status).toBe(204);
    onTestFinished(() => rfpr.settings({ eager: false }));
    expect([(await api.read(mailed.id)).state, (await api.read(entered.id)).state]).toEqual(["completed", "completed"]);
  });
});
