import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { composePinMail } from "../../../lib/connector/pin/compose-pin-mail.ts";
import { type LaunchedSystem, launchSystem } from "../../../local/demo/system.ts";
import type { ReceivedEvent } from "../../../local/peers/sink/sink.ts";
import { type OpenPage, startBrowser, type TestBrowser, violations } from "./browser.ts";

let browser: TestBrowser;
let system: LaunchedSystem;
let address: string;
let facts: Awaited<LaunchedSystem["ready"]>;

beforeAll(async () => {
  system = launchSystem();
  const failed = system.ended.then(() => Promise.reject(new Error(system.log())));
  failed.catch(() => {});
  [facts, browser] = await Promise.all([Promise.race([system.ready, failed]), startBrowser()]);
  address = facts.console ?? "";
});

afterEach(() => browser.closePages());

afterAll(async () => {
  await Promise.all([browser?.close(), system?.close()]);
});

/** For what gives no event, on a busy machine. */
const patient = { timeout: 60_000 };

const visit = (view: string, options = {}): Promise<OpenPage> => browser.open(`${address}/#/${view}`, options);

/** Runs an expression in the page. A string, because its types are the browser's. */
const inPage = <T>(page: Page, expression: string): Promise<T> => page.evaluate(expression) as Promise<T>;

/** Goes to another view of the same page, so that what it holds in memory stays. */
async function go(page: Page, view: string, heading: string): Promise<void> {
  await inPage(page, `location.hash = "#/${view}"`);
  await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
  await expect.poll(() => page.locator("main [aria-busy]").count(), patient).toBe(0);
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

/** Confirms the dialog that asks before something is deleted. */
const confirm = (page: Page, action: string) =>
  page.getByRole("dialog").getByRole("button", { name: action, exact: true }).click();

/** What the last call came to, as it is told in the corner. */
const outcome = (page: Page, text: string | RegExp) => page.getByRole("status").getByText(text).first().waitFor();

/** The page works without what its policy forbids, and asks nobody but its own server. */
function expectCalm({ troubles, asked }: OpenPage): void {
  expect(troubles).toEqual([]);
  expect(asked.filter(url => !url.startsWith(`${address}/`))).toEqual([]);
}

/** The timeline has what happened to the request, without secrets, also after the page was loaded again. */
async function expectStory(page: Page): Promise<void> {
  const entries = page.locator(".timeline li");
  await entries.filter({ hasText: /Request started → complete/ }).waitFor();
  await entries.filter({ hasText: /Grace's Key \(s-01-001\) processing → complete/ }).waitFor();
  await entries
    .filter({ hasText: /credential 1: .* → active/ })
    .first()
    .waitFor();
  await entries.filter({ hasText: "pin_mail_sent" }).first().waitFor();
  // The console's own reads are no part of the story.
  expect(await entries.locator("summary").filter({ hasText: "/v2/credential-requests" }).count()).toBe(0);
  const order = entries.filter({ hasText: "POST /v1/fpr/shipments" });
  await order.locator("summary").click();
  await order.getByRole("region", { name: "Request" }).getByText('"Grace"').waitFor();
  await order.getByRole("region", { name: "Response" }).getByText('"shipment_id"').waitFor();
  // The first call to a peer asks for its token.
  const token = entries.filter({ has: page.locator("summary", { hasText: /POST .*token/ }) }).first();
  await token.locator("summary").click();
  await token.getByText("•••").first().waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await order.getByRole("button", { name: "Copy as curl" }).click();
  await order.getByText("Copied").waitFor();
  const command = await inPage<string>(page, "navigator.clipboard.readText()");
  expect(command).toMatch(
    /^curl -X POST 'http:\/\/127\.0\.0\.1:\d+\/v1\/fpr\/shipments' -H "authorization: Bearer \$TOKEN"/,
  );
}

/** The timeline shows the events of the request with their deliveries, and sends one again. */
async function expectEvents(page: Page): Promise<void> {
  await press(page, "Events");
  const entries = page.locator(".timeline li");
  const delivered = entries.filter({ hasText: "Sink 1 delivered" });
  // The start and end of the request, two keys shipped and their PIN emails, and three active credentials.
  await expect.poll(() => delivered.count(), patient).toBe(9);
  const ended = delivered.filter({ hasText: "fido-connector.request.ended" });
  const received = async () => {
    const events = (await (await fetch(`${facts.peers.sink}/_control/events`)).json()) as readonly ReceivedEvent[];
    return events.filter(({ body }) => body.includes("fido-connector.request.ended"));
  };
  expect(await received()).toHaveLength(1);
  await ended.getByRole("button", { name: "Send again" }).click();
  await outcome(page, /200 POST .*\/resend/);
  const [first, second, ...others] = await received();
  expect(others).toEqual([]);
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
  await press(page, "All");
}

describe("the connector in the page", () => {
  test("a key is ordered, made, activated by the buttons, and its PIN email comes", async () => {
    const open = await visit("order");
    const { page } = open;
    await page.getByLabel("First name").fill("Grace");
    await page.getByLabel("Name", { exact: true }).first().fill("Grace's Key");
    await press(page, "Send the order");
    await outcome(page, "201 POST /v2/credential-requests");
    const states = page.locator(".view > .state-line .badge, .key .badge");
    await page.getByRole("heading", { name: "Grace's Key processing" }).waitFor();
    expect(await states.allTextContents()).toEqual([
      ...["started"],
      ...["processing", "processing"],
      ...["processing", "processing", "processing"],
    ]);

    // The button of the next step changes with the request.
    await press(page, "Ship the keys");
    await page.getByText("103 · Shipped").first().waitFor();
    await press(page, "Process shipments");
    await page.getByText("activation_pending").first().waitFor();
    await press(page, "Process credential requests");
    await page.getByText("The request is complete").waitFor();
    expect(await page.getByRole("button", { name: "Play to the end" }).count()).toBe(0);
    expect(await states.allTextContents()).toEqual([
      ...["complete"],
      ...["complete", "active"],
      ...["complete", "active", "active"],
    ]);
    const id = decodeURIComponent(page.url().split("/").at(-1) ?? "");
    await page.reload();
    await expectStory(page);
    await expectEvents(page);
    expect(await violations(page)).toEqual([]);
    await page.locator(".timeline a").first().click();
    await page
      .getByRole("region", { name: "Open mail" })
      .getByRole("heading", { name: /^PIN for security key/ })
      .waitFor();

    await go(page, "mailbox", "Mailbox");
    await page.getByRole("link", { name: "Grace's Key" }).click();
    await page.locator("iframe").waitFor();
    expect(await page.locator("iframe").count()).toBe(1);
    const frame = page.frameLocator('iframe[title*="Grace\'s Key"]');
    const mailed = await frame.locator("body").textContent();
    await go(page, "peer/delivery", "Peer delivery");
    const keys = await page.getByText(/^serial \d+ with PIN \d+$/).allTextContents();
    const [, pin = "none"] = /PIN (\d+)/.exec(keys[0] ?? "") ?? [];
    expect(mailed).toContain(pin);

    await go(page, "requests", "Requests");
    await page.getByRole("row").filter({ hasText: id }).getByText("complete").waitFor();
    await page.getByText(/^1 to \d+ of \d+$/).waitFor();
    await page.getByText("Find requests").click();
    await page.getByLabel("State", { exact: true }).selectOption("complete");
    await page.getByLabel("User").fill("grace@example.com");
    await press(page, "Find");
    const found = page.getByRole("table", { name: "Requests that were found" }).getByRole("row");
    await found.filter({ hasText: id }).getByText("2 shipped").waitFor();
    await page.getByLabel("State", { exact: true }).selectOption("failed");
    await press(page, "Find");
    await page.getByText("No request was found").waitFor();
    await go(page, "peer/entra", "Peer entra");
    await page.getByText("Grace's Key: ").first().waitFor();
    expect(await page.getByText("Grace's Key: ").count()).toBe(1);
    expectCalm(open);
  });

  test("authenticators are enrolled on site at several identity providers; PINs are entered, shown or mailed", async () => {
    const open = await visit("order");
    const { page } = open;
    await press(page, "Ship nothing");
    await press(page, "Ship keys after all");
    await page.getByLabel("Street", { exact: true }).waitFor();
    await press(page, "Ship nothing");
    for (const _ of [1, 2, 3]) await press(page, "Add an on-site authenticator");
    const card = (title: string) => page.locator("section.card", { has: page.getByRole("heading", { name: title }) });
    const [entered, shown] = [card("On-site authenticator 1"), card("On-site authenticator 2")];
    await entered.getByLabel("Name").fill("Entered");
    await entered.getByLabel("PIN is chosen by").selectOption("user_entered");
    await entered.getByLabel("Identity provider").selectOption("pingone");
    await shown.getByLabel("Name").fill("Shown");
    await shown.getByLabel("PIN is delivered by").selectOption("app");
    await shown.getByLabel("Preferred").selectOption("software");
    await shown.getByRole("button", { name: "Add a credential" }).click();
    await card("On-site authenticator 3").getByLabel("Identity provider").selectOption("aic");
    await press(page, "Send the order");
    await outcome(page, "201 POST /v2/credential-requests");
    await page.getByRole("heading", { name: "Entered processing" }).waitFor();
    // What was reported belongs to this view.
    await page.waitForTimeout(1100);
    await go(page, "peers", "Peers");
    await page.getByRole("status").getByText("201 POST").waitFor({ state: "detached" });
    await page.goBack();
    await page.getByRole("heading", { name: "Entered processing" }).waitFor();
    expect(await page.locator(".key .hint").filter({ hasText: "on site" }).count()).toBe(3);

    await card("Entered for").getByLabel("PIN that the user enters").fill("12");
    await card("Entered for").getByRole("button", { name: "Enroll it" }).click();
    await outcome(page, /400 rfpr.*/);
    await card("Entered for").getByLabel("PIN that the user enters").fill("geheim");
    await card("Entered for").getByRole("button", { name: "Enroll it" }).click();
    await page.getByText("Entered is completed").waitFor();
    for (const name of ["Shown", "Pre-Reg Key"]) {
      await card(`${name} for`).getByRole("button", { name: "Enroll it" }).click();
      await page.getByText(`${name} is completed`).waitFor();
    }
    await press(page, "Process credential requests");
    await page.getByText("The request is complete").waitFor();
    await card("Shown for")
      .getByText(/^\d{6}$/)
      .first()
      .waitFor();
    await go(page, "mailbox", "Mailbox");
    await page.getByRole("link", { name: /^PIN for security key Pre-Reg Key/ }).waitFor();
    expect(await page.getByRole("link", { name: /Entered|Shown/ }).count()).toBe(0);
    for (const idp of ["pingone", "aic"]) {
      await go(page, `peer/${idp}`, `Peer ${idp}`);
      await page.getByRole("cell", { name: "ada@example.com" }).waitFor();
    }
    expectCalm(open);
  });

  test("a parcel gets lost, its key is revoked, and the register of keys shows it", async () => {
    const open = await visit("order");
    const { page } = open;
    await page.getByLabel("First name").fill("Lost");
    await press(page, "Send the order");
    await page.getByText("The request is started").waitFor();
    await press(page, "Play to the end");
    await page.getByText("The request is complete").waitFor();
    const id = decodeURIComponent(page.url().split("/").at(-1) ?? "");
    const delivery = page.locator("dl.facts > div").filter({ hasText: /^Delivery/ });
    await delivery.getByText("in_transit").waitFor();
    await press(page, "Lose");
    await outcome(page, /200 delivery/);
    await press(page, "Process shipments");
    await delivery.getByText("lost", { exact: true }).waitFor();
    const key = page.locator(".key").filter({ has: page.getByRole("button", { name: "Revoke the key" }) });
    await key.getByRole("button", { name: "Revoke the key" }).click();
    await confirm(page, "Revoke the key");
    await outcome(page, /^200 POST .*\/security-keys\/.*\/revoke$/);
    await expect.poll(() => page.locator(".key .badge").getByText("revoked", { exact: true }).count(), patient).toBe(2);
    const hint = page.locator(".key").filter({ hasText: "revoked" }).locator(".hint").first();
    const serial = /serial (\d+)/.exec((await hint.textContent()) ?? "")?.[1] ?? "";

    await go(page, "security-keys", "Security keys");
    await page.getByLabel("State").selectOption("revoked");
    await press(page, "Apply");
    const rows = page.getByRole("row").filter({ has: page.locator(`a[href="#/request/${id}"]`) });
    await expect.poll(() => rows.count(), patient).toBe(2);
    await page.getByLabel("Serial number").fill(serial);
    await press(page, "Apply");
    await page.getByRole("table", { name: "Security keys" }).getByText(serial).first().waitFor();
    expect(await violations(page)).toEqual([]);
    expectCalm(open);
  });

  test("an enrollment is declined on site, and a request is cancelled once that was confirmed", async () => {
    const open = await visit("order");
    const { page } = open;
    await press(page, "Ship nothing");
    await press(page, "Add an on-site authenticator");
    await press(page, "Send the order");
    await page.getByLabel("Reason").fill("She has left.");
    await press(page, "Decline it");
    await press(page, "Process credential requests");
    await page.getByText("The request is cancelled").waitFor();

    await go(page, "order", "Order");
    await press(page, "Add an on-site authenticator");
    await press(page, "Send the order");
    await page.getByRole("heading", { name: "Shipment" }).waitFor();
    await page.getByLabel("State at the delivery service").selectOption("1");
    await press(page, "Set state");
    await page.getByText("1 · Incomplete Shipping Request").first().waitFor();
    await press(page, "Cancel");
    await page.getByRole("dialog").getByText("Cancel this request?").waitFor();
    expect(await violations(page)).toEqual([]);
    await confirm(page, "Keep");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await press(page, "Cancel");
    await confirm(page, "Cancel the request");
    await outcome(page, /^200 POST .*\/cancel$/);
    await page.getByText("The request is cancelled").waitFor();
    await page.getByText("unknown there").waitFor();
    expectCalm(open);
  });

  test("a request is played to the end by one button, and the overview shows what waits", async () => {
    const open = await visit("order");
    const { page } = open;
    await press(page, "Add an on-site authenticator");
    await press(page, "Send the order");
    await page.getByText("The request is started").waitFor();
    await go(page, "", "Overview");
    await page
      .getByRole("row")
      .filter({ hasText: "2 keys to be shipped, 1 key to be enrolled on site" })
      .getByRole("link")
      .click();
    await press(page, "Play to the end");
    await page.getByText("The request is complete").waitFor();
    await go(page, "", "Overview");
    await page.getByRole("link", { name: /^[1-9]\d* complete$/ }).waitFor();
    await page.getByRole("row").filter({ hasText: "dataCleanup" }).getByRole("button", { name: "Run now" }).click();
    await outcome(page, "202 POST /admin/functions/dataCleanup");
    await page.getByText("healthy", { exact: true }).first().waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy: token of the Connector" }).click();
    await expect.poll(() => inPage<string>(page, "navigator.clipboard.readText()"), patient).toMatch(/^connector_/);
    expectCalm(open);
  });

  test("a fault is set, strikes the next order, and is used up; what the peer was asked is shown", async () => {
    const open = await visit("peer/delivery");
    const { page } = open;
    await page.getByText("No fault is set.").waitFor();
    await page.getByLabel("Status").fill("422");
    await page.getByLabel("Body").fill('{"code":"validation_error","message":"No such street"}');
    await page.getByLabel("Method").selectOption("POST");
    await page.getByLabel("Path").fill("^/v1/fpr/shipments$");
    await press(page, "Set a fault");
    await page.getByRole("row").filter({ hasText: "refuse" }).getByText("POST ^/v1/fpr/shipments$").waitFor();

    await go(page, "order", "Order");
    await press(page, "Send the order");
    await outcome(page, "400 POST /v2/credential-requests");
    await outcome(page, /delivery_error.*No such street/s);
    expect(page.url()).toMatch(/#\/order$/);

    await go(page, "peer/delivery", "Peer delivery");
    await page.getByText("No fault is set.").waitFor();
    const struck = page.getByRole("row").filter({ hasText: "POST /v1/fpr/shipments" }).first();
    expect(await struck.getByRole("cell").last().textContent()).toBe("422");

    await page.getByLabel("Kind").selectOption("delay");
    await page.getByLabel("Milliseconds", { exact: true }).fill("5");
    await press(page, "Set a fault");
    await page.getByRole("row").filter({ hasText: "ms: 5" }).waitFor();
    await press(page, "Clear all faults");
    await page.getByText("No fault is set.").waitFor();
    expectCalm(open);
  });

  test("an order is changed by its JSON as by its fields, also to one that is refused", async () => {
    const open = await visit("order");
    const { page } = open;
    await page.getByText("The JSON that is sent").click();
    const json = page.getByLabel("Body of the call");
    const body = JSON.parse(await json.inputValue());
    expect(body.shipment.shipment_items.map((item: { credentials: unknown[] }) => item.credentials.length)).toEqual([
      1, 2,
    ]);
    await press(page, "Add an on-site authenticator");
    await page.getByLabel("Company").fill("Engines");
    expect(JSON.parse(await json.inputValue())).toMatchObject({
      recipient: { company: "Engines" },
      authenticators: [{ credentials: [{ user_id: "ada@example.com" }] }],
    });
    body.shipment.shipment_items[0].pin_request.length = 99;
    await json.fill(JSON.stringify(body));
    expect(await page.getByLabel("PIN length").first().inputValue()).toBe("99");
    await press(page, "Send the order");
    await outcome(page, /shipment\.shipment_items\[0\]\.pin_request\.length/);
    const length = page.getByLabel("PIN length").first();
    await expect.poll(() => length.getAttribute("aria-invalid"), patient).toBe("true");
    expect(await inPage(page, "document.activeElement.dataset.path")).toMatch(/pin_request\.length$/);
    await page.locator(".field", { has: length }).locator(".field-problem").waitFor();
    expect(await violations(page)).toEqual([]);
    // The button stays in sight, wherever the page is scrolled to.
    await inPage(page, "scrollTo(0, 0)");
    expect(
      await inPage(
        page,
        "document.querySelector('.order > .buttons:last-child').getBoundingClientRect().bottom <= innerHeight",
      ),
    ).toBe(true);
    const dropped = JSON.stringify({ ...body, recipient: { ...body.recipient, company: "Dropped" } });
    const dataTransfer = await page.evaluateHandle(
      `(() => { const data = new DataTransfer(); data.items.add(new File([${JSON.stringify(dropped)}], "order.json")); return data; })()`,
    );
    await page.locator(".drop").dispatchEvent("drop", { dataTransfer });
    await expect.poll(() => page.getByLabel("Company").inputValue(), patient).toBe("Dropped");
    await json.fill("no JSON");
    await press(page, "Send the order");
    await outcome(page, /body.*JSON/i);
    expectCalm(open);
  });
});

describe("the API reference", () => {
  test("copies a call with the local token for curl, Python and JavaScript, and sends one", async () => {
    const { page, asked } = await visit("", { viewport: { width: 1280, height: 900 } });
    // The script of the reference has 3 MB, which a busy machine loads slowly.
    page.setDefaultTimeout(60_000);
    await page.goto(`${address}/reference`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const send = page.getByRole("button", { name: /^Test Request/ }).first();
    await send.waitFor();
    const language = page.getByRole("button", { name: /^(Shell|Python|JavaScript) / }).first();
    const programs = [
      ["Curl", "curl "],
      ["Requests", "requests.post("],
      ["Fetch", "fetch("],
    ] as const;
    for (const [option, program] of programs) {
      await language.click();
      await page.getByRole("option", { name: option, exact: true }).click();
      const block = page.locator(".scalar-code-block", { hasText: program }).first();
      await block.hover();
      await block.getByRole("button").first().click();
      const copied = () => inPage<string>(page, "navigator.clipboard.readText()");
      await expect.poll(copied, patient).toContain(program);
      expect(await copied()).toContain(`${facts.host}/v2/credential-requests`);
      expect(await copied()).toContain(`Bearer ${facts.tokens.connector}`);
    }
    await send.click();
    const response = page.waitForResponse(/\/reference\/proxy\?/);
    await page.getByRole("button", { name: /^Send/ }).first().click();
    expect((await response).status()).toBe(201);
    expect(asked.filter(url => !url.startsWith(`${address}/`) && !/^(data|blob):/.test(url))).toEqual([]);
  }, 240_000);
});

test("maintenance is started by the buttons, and its report is shown", async () => {
  const open = await visit("maintenance");
  const { page } = open;
  await press(page, "dataCleanup");
  await outcome(page, "202 POST /admin/functions/dataCleanup");
  await press(page, "Check every peer");
  await page.getByRole("heading", { name: "connector/check-peers has reported" }).waitFor();
  await page.getByText('"ok": true').last().waitFor();
  await page.getByLabel("Who", { exact: true }).fill("nobody@example.com");
  await press(page, "Erase one recipient");
  await confirm(page, "Erase");
  await page.getByRole("heading", { name: "connector/erase has reported" }).waitFor();
  await page.getByText('"erased": 0').waitFor();
  for (const wing of ["Connector", "Authentication server"]) {
    await page
      .locator(".card", { has: page.getByRole("heading", { name: wing }) })
      .getByText("Back up")
      .click();
    await outcome(page, /^200 POST .maintenance.*back-up/);
  }
  await page.getByRole("heading", { name: "auth/back-up has reported" }).waitFor();
  expectCalm(open);
});

/** A line of a key maker's personalisation log. */
const personalised = `508328,ccccccbchvth,83cebdfb7b93,${"a1".repeat(16)},,2013-12-12T08:43:17,`;

describe("the authentication server in the page", () => {
  const password = "seven green herons";

  test("a user signs in with software keys of every kind, and not without one", async () => {
    const open = await visit("users");
    const { page } = open;
    await page.getByLabel("Username").fill("Lovelace");
    await page.getByLabel("Password").fill(password);
    await press(page, "Create");
    await outcome(page, "201 POST /core/users");
    const kinds = ["hotp", "totp", "yubico"];
    await go(page, "otpkeys", "OTP keys");
    for (const kind of kinds) {
      await page.getByLabel("Kind").selectOption(kind);
      await page.getByLabel("Prefix").fill(`key${kind}`);
      if (kind === "totp") await page.getByLabel("Algorithm").selectOption("SHA256");
      await press(page, "Import");
      await page
        .getByRole("row")
        .filter({ hasText: `key${kind}` })
        .getByText("enabled")
        .waitFor();
    }
    await page.setInputFiles("input[type=file]", {
      name: "keys.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(`${personalised}\nnonsense`),
    });
    await page.getByRole("row").filter({ hasText: "imported" }).waitFor();
    await page.getByRole("row").filter({ hasText: "refused" }).waitFor();
    await go(page, "users", "Users");
    await page.getByRole("link", { name: "Lovelace" }).click();
    for (const kind of kinds) {
      await page.getByLabel("Prefix of the key").fill(`key${kind}`);
      await press(page, "Assign");
      await page.getByRole("link", { name: `key${kind}` }).waitFor();
    }

    await go(page, "sign-in", "Sign-in");
    await page.getByLabel("Username").fill("Lovelace");
    await page.getByLabel("Password", { exact: true }).fill(password);
    await press(page, "Log in");
    await outcome(page, "401 POST /client/login");
    for (const kind of kinds) {
      await page.getByLabel("Software key").selectOption(`key${kind}`);
      await press(page, "Press the key");
      await expect.poll(() => page.getByLabel("OTP").inputValue(), patient).toContain(`key${kind}`);
      await press(page, "Log in");
      await outcome(page, "200 POST /client/login");
      const session = page.locator(".card", { hasText: "Key used" });
      await session.getByText("Lovelace").waitFor();
      await session.getByText(`key${kind}`).waitFor();
      await press(page, "Log out");
      await page.getByText("No session.").waitFor();
    }
    await press(page, "Check without login");
    await outcome(page, "200 POST /client/authenticate");
    // The OTP is used up.
    await outcome(page, "false");

    await go(page, "users", "Users");
    await page.getByRole("link", { name: "Lovelace" }).click();
    await press(page, "End all sessions");
    await confirm(page, "End the sessions");
    await outcome(page, /^204 POST .*\/sessions\/delete$/);
    await page.getByText("Not locked").waitFor();
    await press(page, "Unlock");
    await outcome(page, /^204 POST .*\/unlock$/);
    await page.getByRole("row").filter({ hasText: "keyhotp" }).getByRole("button", { name: "Unassign" }).click();
    await confirm(page, "Unassign the key");
    await page.getByRole("link", { name: "keyhotp" }).waitFor({ state: "detached" });

    await page.getByRole("link", { name: "keytotp" }).click();
    await page.getByLabel("Valid until").fill("2099-12-31");
    await press(page, "Set the validity");
    await page.getByText("until 2099-12-31").waitFor();
    await page.getByLabel("Uses").selectOption("3");
    await press(page, "Issue");
    await page.getByText("shown only once").waitFor();
    await page.getByText("disabled", { exact: true }).waitFor();
    await press(page, "Revoke");
    await confirm(page, "Revoke the code");
    await page.getByText("shown only once").waitFor({ state: "detached" });

    await go(page, "otpkeys", "OTP keys");
    await page.getByRole("link", { name: "keyhotp" }).waitFor();
    await page.getByLabel("State").selectOption("disabled");
    await press(page, "Apply");
    await page.getByRole("link", { name: "keyhotp" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "keytotp" }).waitFor();
    expectCalm(open);
  });

  test("attributes are set and deleted, lists filtered, passwords reset and validated, users deleted", async () => {
    const open = await visit("users");
    const { page } = open;
    await press(page, "Create");
    const username = page.getByLabel("Username");
    await expect.poll(() => username.getAttribute("aria-invalid"), patient).toBe("true");
    await page.locator(".field", { has: username }).locator(".field-problem").waitFor();
    for (const name of ["Augusta", "Babbage"]) {
      await page.getByLabel("Username").fill(name);
      await page.getByLabel("Password").fill(password);
      await press(page, "Create");
      await page.getByRole("link", { name }).waitFor();
    }
    await page.getByRole("link", { name: "Augusta" }).click();
    await page.getByLabel("Key", { exact: true }).fill("colour");
    await page.getByLabel("Value").fill("green");
    await press(page, "Set");
    await page.getByRole("row").filter({ hasText: "colour" }).getByText("green").waitFor();
    await page.getByLabel("New password").fill("nine blue herons");
    await press(page, "Reset");
    await outcome(page, /^204 POST .*\/reset$/);
    await page.getByLabel("Password", { exact: true }).fill("nine blue herons");
    await press(page, "Validate");
    await page.getByText("Password valid").waitFor();
    await press(page, "Reset with a code");
    await confirm(page, "Reset the password");
    await outcome(page, /^201 POST .*\/reset$/);
    await page.getByText("shown only once").waitFor();
    await page.locator(".facts", { hasText: "Code for a new password" }).getByText("until").waitFor();

    await go(page, "users", "Users");
    await page.getByLabel("Has the attribute").fill("colour");
    await page.getByLabel("With this value").fill("green");
    await press(page, "Apply");
    await page.getByRole("link", { name: "Babbage" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Augusta" }).click();
    await press(page, "Delete");
    await confirm(page, "Delete the attribute");
    await page.getByText("green").waitFor({ state: "detached" });
    await press(page, "Delete this user");
    await confirm(page, "Delete the user");
    await page.getByRole("link", { name: "Babbage" }).waitFor();
    expect(await page.getByRole("link", { name: "Augusta" }).count()).toBe(0);
    expectCalm(open);
  });
});

describe("any user of the page", () => {
  const views = {
    "": "Overview",
    requests: "Requests",
    order: "Order",
    "on-site": "On site",
    mailbox: "Mailbox",
    peers: "Peers",
    "peer/delivery": "Peer delivery",
    "peer/enrollment": "Peer enrollment",
    "peer/rfpr": "Peer rfpr",
    "peer/pingone": "Peer pingone",
    "peer/aic": "Peer aic",
    "peer/mail": "Peer mail",
    "peer/sink": "Peer sink",
    users: "Users",
    otpkeys: "OTP keys",
    "sign-in": "Sign-in",
    maintenance: "Maintenance",
  };

  test("reads every view on a phone without moving it sideways, in light and dark, every field, button and frame by its name, with nothing that axe-core objects to", async () => {
    const { page } = await visit("", { viewport: { width: 320, height: 640 } });
    for (const [view, title] of Object.entries(views)) {
      await go(page, view, title);
      const wide = await inPage<number>(page, "document.documentElement.scrollWidth - innerWidth");
      expect(wide, view).toBeLessThanOrEqual(0);
      expect(await inPage(page, namelessElements), view).toEqual([]);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await violations(page), `${view} ${colorScheme}`).toEqual([]);
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    const background = () => inPage(page, "getComputedStyle(document.body).backgroundColor");
    const light = await background();
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await background()).not.toBe(light);
  });

  test("moves from view to view by the keyboard alone, and sees where the focus is", async () => {
    const { page } = await visit("");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await inPage(page, "document.activeElement.textContent")).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await inPage(page, "document.activeElement.tagName")).toBe("MAIN");
    await page.getByRole("link", { name: "Peers", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Peers", level: 1 }).waitFor();
    // The link has the same text, and has the focus until the view is drawn.
    const focused = "document.activeElement.tagName + ' ' + document.activeElement.textContent";
    await expect.poll(() => inPage(page, focused), patient).toBe("H1 Peers");
    expect(await page.title()).toBe("Peers · Local console");
  });
});

test.each([
  [1280, 600],
  [320, 640],
])("no field or button that gets the focus by the keyboard is hidden under a bar, %i × %i", async (width, height) => {
  const { page } = await visit("order", { viewport: { width, height } });
  await page.getByRole("button", { name: "Send the order" }).waitFor();
  await page.getByLabel("First name").focus();
  const hidden: string[] = [];
  for (let count = 0; count < 45; count++) {
    await page.keyboard.press(count < 30 ? "Tab" : "Shift+Tab");
    hidden.push(...(await inPage<string[]>(page, coveredFocus)));
  }
  expect(hidden).toEqual([]);
});

describe("the PIN email", () => {
  const longest = "a.person.with.a.name.that.knows.no.end".repeat(2);
  const { html } = composePinMail(
    {
      serial: "30000001",
      keyName: "Eighteen letters..",
      userIds: [`${longest}@example.com`],
      pin: "9".repeat(63),
      trackingNumber: "9".repeat(64),
    },
    { language: "de", organization: longest, supportContact: longest, signInUrl: `https://${longest}.example.com` },
  );

  test("is read on the narrowest telephone without moving it sideways, in light and in dark, and loads nothing", async () => {
    const { page, troubles, asked } = await browser.open("about:blank", { viewport: { width: 320, height: 568 } });
    await page.setContent(html);
    expect(await inPage<number>(page, "document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
    const words = "[...document.querySelectorAll('p, th, td')].map(each => getComputedStyle(each).color)";
    expect(new Set(await inPage<string[]>(page, words))).toEqual(new Set(["rgb(0, 0, 0)"]));
    await page.emulateMedia({ colorScheme: "dark" });
    expect(new Set(await inPage<string[]>(page, words))).toEqual(new Set(["rgb(255, 255, 255)"]));
    expect(asked.filter(url => url !== "about:blank")).toEqual([]);
    expect(troubles).toEqual([]);
  });
});

/** The element with the focus, if no part of its middle can be seen. */
const coveredFocus = `
  (() => {
    const { activeElement } = document;
    const { left, top, width, height } = activeElement.getBoundingClientRect();
    const shown = document.elementFromPoint(left + width / 2, top + height / 2);
    return activeElement.contains(shown) ? [] : [activeElement.outerHTML];
  })()`;

const namelessElements = `
  [...document.querySelectorAll("input, select, textarea, button, iframe, a")]
    .filter(each => ![each.title, each.ariaLabel, each.textContent, ...[...(each.labels ?? [])].map(label => label.textContent)].some(Boolean))
    .map(each => each.outerHTML)`;

test("the page's modules are sound by their types", () => {
  const root = join(import.meta.dirname, "../../..");
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", "commands/console/page", "--singleThreaded"], {
    cwd: root,
    encoding: "utf8",
  });
  expect(stdout).toBe("");
});
