import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { composePinMail } from "../../../lib/connector/pin/compose-pin-mail.ts";
import { type LaunchedSystem, launchSystem } from "../../../local/demo/system.ts";
import type { ReceivedEvent } from "../../../local/peers/sink/sink.ts";
import { type OpenPage, startBrowser, type TestBrowser, violations } from "./browser.ts";
import { consoleOf, patient } from "./console-page.ts";

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
  // Otherwise shipments leave by themselves, and the button that ships them with it.
  const body = JSON.stringify({ shipAfterMs: 86_400_000 });
  await fetch(`${facts.peers.delivery}/_control/settings`, { method: "POST", body });
});

afterEach(() => browser.closePages());

afterAll(async () => {
  await Promise.all([browser?.close(), system?.close()]);
});

const visit = (view: string, options = {}): Promise<OpenPage> => browser.open(`${address}/#/${view}`, options);

/** Runs an expression in the page. A string, because its types are the browser's. */
const inPage = <T>(page: Page, expression: string): Promise<T> => page.evaluate(expression) as Promise<T>;

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
  await entries.filter({ hasText: /Grace's Key, credential 1: .* → active/ }).waitFor();
  await expect.poll(() => entries.filter({ hasText: "pin_mail_sent" }).count(), patient).toBe(2);
  // The console's own reads are no part of the story.
  expect(await entries.locator("summary").filter({ hasText: "/v2/credential-requests" }).count()).toBe(0);
  const order = entries.filter({ hasText: "POST /v1/fpr/shipments" });
  await order.locator("summary").click();
  await order.getByRole("region", { name: "Request" }).getByText('"Grace"').waitFor();
  await order.getByRole("region", { name: "Response" }).getByText('"shipment_id"').waitFor();
  // The first call to a peer asks for its token.
  const token = entries.filter({ has: page.locator("summary", { hasText: /^entra POST .*token/ }) });
  await token.locator("summary").click();
  await token.getByRole("region", { name: "Response" }).getByText("•••").waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await order.getByRole("button", { name: "Copy as curl" }).click();
  await expect
    .poll(() => inPage(page, "navigator.clipboard.readText()"), patient)
    .toMatch(/^curl -X POST 'http:\/\/127\.0\.0\.1:\d+\/v1\/fpr\/shipments' -H "authorization: Bearer \$TOKEN"/);
}

/** The timeline shows the events of the request with their deliveries, and sends one again. */
async function expectEvents(page: Page): Promise<void> {
  const { press, outcome, button } = consoleOf(page);
  await press("Events");
  const delivered = page.locator(".timeline li").filter({ hasText: "Sink 1 delivered" });
  // The start and end of the request, two keys shipped and their PIN emails, and three active credentials.
  await expect.poll(() => delivered.count(), patient).toBe(9);
  const ended = delivered.filter({ hasText: "fido-connector.request.ended" });
  const received = async () => {
    const events = (await (await fetch(`${facts.peers.sink}/_control/events`)).json()) as readonly ReceivedEvent[];
    return events.filter(({ body }) => body.includes("fido-connector.request.ended"));
  };
  expect(await received()).toHaveLength(1);
  await outcome(/^200 POST .*\/resend$/, () => button("Send again", ended).click());
  const [first, second, ...others] = await received();
  expect(others).toEqual([]);
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
  await press("All");
}

/** Sends the order of the view, and waits until its request is shown. Returns the id of the request. */
async function sendOrder(page: Page): Promise<string> {
  const { press, outcome, viewed } = consoleOf(page);
  await outcome("201 POST /v2/credential-requests", () => press("Send the order"));
  await viewed("Request");
  return decodeURIComponent(page.url().split("/").at(-1) ?? "");
}

/** Waits until the request that is shown is in a state. */
const expectState = (page: Page, state: string) =>
  page
    .locator(".view > .state-line")
    .filter({ hasText: `The request is ${state}` })
    .waitFor();

describe("the connector in the page", () => {
  test("a key is ordered, made, activated by the buttons, and its PIN email comes", async () => {
    const open = await visit("order");
    const { page } = open;
    const { main, field, card, press, button, fact, go, rows } = consoleOf(page);
    await field("First name").fill("Grace");
    await field("Name", card("Shipped key 1")).fill("Grace's Key");
    const id = await sendOrder(page);
    const badges = (within: string) => expect.poll(() => main.locator(`${within} .badge`).allTextContents(), patient);
    await badges(".view > .state-line").toEqual(["started"]);
    await badges(".key").toEqual(Array(5).fill("processing"));

    // The button of the next step changes with the request.
    await press("Ship the keys");
    await fact("At the delivery service").getByText("103 · Shipped", { exact: true }).waitFor();
    await press("Process shipments");
    await badges(".credentials").toEqual(Array(3).fill("activation_pending"));
    await press("Process credential requests");
    await expectState(page, "complete");
    await badges(".key").toEqual(["complete", "active", "complete", "active", "active"]);
    expect(await button("Play to the end").count()).toBe(0);
    await page.reload();
    await expectStory(page);
    await expectEvents(page);
    expect(await violations(page)).toEqual([]);

    await page.locator(".timeline").getByRole("link", { name: "Grace's Key" }).click();
    const mail = main.getByRole("region", { name: "Open mail" });
    await mail.getByRole("heading", { name: /^PIN for security key/ }).waitFor();
    const [, mailView = ""] = page.url().split("#/");
    await go("peer/delivery", "Peer delivery");
    const keys = await main.getByText(/^serial \d+ with PIN \d+$/).allTextContents();
    const [, pin = "none"] = /PIN (\d+)/.exec(keys[0] ?? "") ?? [];
    await go(mailView, "Mailbox");
    const frame = page.frameLocator('iframe[title*="Grace\'s Key"]');
    await frame.locator("body").filter({ hasText: pin }).waitFor();

    await go("requests", "Requests");
    await field("State").selectOption("complete");
    await field("User").fill("grace@example.com");
    await press("Find");
    await rows("Credential requests", id).getByText("2 shipped").waitFor();
    await field("State").selectOption("failed");
    await press("Find");
    await main.getByText("No request on this page").waitFor();
    await go("peer/entra", "Peer entra");
    await main.getByText("Grace's Key: ").waitFor();
    expectCalm(open);
  });

  test("authenticators are enrolled on site at several identity providers; PINs are entered, shown or mailed", async () => {
    const open = await visit("order");
    const { page } = open;
    const { main, note, field, card, press, fact, go, outcome } = consoleOf(page);
    await press("Ship nothing");
    await press("Ship keys after all");
    await field("Street").waitFor();
    await press("Ship nothing");
    for (const _ of [1, 2, 3]) await press("Add an on-site authenticator");
    const [entered, shown] = [card("On-site authenticator 1"), card("On-site authenticator 2")];
    await field("Name", entered).fill("Entered");
    await field("PIN is chosen by", entered).selectOption("user_entered");
    await field("Identity provider", entered).selectOption("pingone");
    await field("Name", shown).fill("Shown");
    await field("PIN is delivered by", shown).selectOption("app");
    await field("Preferred", shown).selectOption("software");
    await press("Add a credential", shown);
    await field("Identity provider", card("On-site authenticator 3")).selectOption("aic");
    await sendOrder(page);
    await main.getByRole("heading", { name: "Entered processing" }).waitFor();
    expect(await main.locator(".key > .hint").filter({ hasText: "on site" }).count()).toBe(3);

    const waiting = card(/^Entered for /);
    await field("PIN that the user enters", waiting).fill("12");
    await outcome("400 rfpr: POST", () => press("Enroll it", waiting));
    // Another view keeps what a call came to, without its body, which may have a secret.
    await note.locator("details").waitFor();
    await go("peers", "Peers");
    await note.locator("details").waitFor({ state: "detached" });
    await note.filter({ hasText: "400 rfpr" }).waitFor();
    await page.goBack();
    await field("PIN that the user enters", waiting).fill("geheim");
    for (const name of ["Entered", "Shown", "Pre-Reg Key"]) {
      await press("Enroll it", card(new RegExp(`^${name} for `)));
      await main.getByText(`${name} is completed`, { exact: true }).waitFor();
    }
    await press("Process credential requests");
    await expectState(page, "complete");
    await fact("PIN", card(/^Shown for /))
      .getByText(/^\d{6}$/)
      .waitFor();
    await go("mailbox", "Mailbox");
    await main.getByRole("link", { name: /^PIN for security key Pre-Reg Key/ }).waitFor();
    expect(await main.getByRole("link", { name: /Entered|Shown/ }).count()).toBe(0);
    for (const idp of ["pingone", "aic"]) {
      await go(`peer/${idp}`, `Peer ${idp}`);
      await main.getByRole("cell", { name: "ada@example.com", exact: true }).waitFor();
    }
    expectCalm(open);
  });

  test("a parcel gets lost, its key is revoked, and the register of keys shows it", async () => {
    const open = await visit("order");
    const { page } = open;
    const { main, field, card, press, button, fact, go, outcome, confirm } = consoleOf(page);
    await field("First name").fill("Lost");
    const id = await sendOrder(page);
    // The request is complete before the last run has sent its emails.
    await outcome(/^200 POST .*\/process-credential-requests$/, () => press("Play to the end"));
    await expectState(page, "complete");
    await fact("Delivery").getByText("in_transit", { exact: true }).waitFor();
    await outcome("200 delivery: POST", () => press("Lose"));
    // The next look at the parcel is due `POLL_AFTER_SECONDS` after the last one, on demand too.
    await page.waitForTimeout(1000);
    await outcome(/^204 GET .*\/process-shipments/, () => press("Process shipments"));
    await fact("Delivery").getByText("lost", { exact: true }).waitFor();
    const [one = "", two = ""] = await main.locator(".key > .hint").allTextContents();
    // The key with two credentials has a button for both.
    await outcome(/^200 POST .*\/security-keys\/.*\/revoke$/, async () => {
      await press("Revoke the key");
      await confirm("Revoke the key");
    });
    const revoked = card(/^Spare Key/)
      .locator(".badge")
      .getByText("revoked", { exact: true });
    await expect.poll(() => revoked.count(), patient).toBe(2);
    await button("Revoke the key").waitFor({ state: "detached" });

    await go("security-keys", "Security keys");
    const rows = main.getByRole("row").filter({ has: page.locator(`a[href="#/request/${id}"]`) });
    expect(await rows.count()).toBe(3);
    await field("State").selectOption("revoked");
    await press("Apply");
    await expect.poll(() => rows.count(), patient).toBe(2);
    const [serial = "", other = ""] = [one, two].map(hint => /serial (\d+)/.exec(hint)?.[1]);
    expect(await rows.filter({ hasText: other }).count()).toBe(2);
    await field("State").selectOption("");
    await field("Serial number").fill(serial);
    await press("Apply");
    await rows.filter({ hasText: serial }).waitFor();
    expect(await rows.count()).toBe(1);
    expect(await violations(page)).toEqual([]);
    expectCalm(open);
  });

  test("an enrollment is declined on site, and a request is cancelled once that was confirmed", async () => {
    const open = await visit("order");
    const { page } = open;
    const { field, press, fact, go, outcome, confirm } = consoleOf(page);
    await press("Ship nothing");
    await press("Add an on-site authenticator");
    await sendOrder(page);
    await field("Reason").fill("She has left.");
    await outcome(/^20\d rfpr: POST/, () => press("Decline it"));
    await press("Process credential requests");
    await expectState(page, "cancelled");

    await go("order", "Order");
    await press("Add an on-site authenticator");
    await sendOrder(page);
    await field("State at the delivery service").selectOption("1");
    await press("Set state");
    await fact("At the delivery service").getByText("1 · Incomplete Shipping Request", { exact: true }).waitFor();
    await press("Cancel");
    await page.getByRole("dialog").getByText("Cancel this request?").waitFor();
    expect(await violations(page)).toEqual([]);
    await confirm("Keep");
    await outcome(/^200 POST .*\/cancel$/, async () => {
      await press("Cancel");
      await confirm("Cancel the request");
    });
    await expectState(page, "cancelled");
    await fact("At the delivery service").getByText("unknown there", { exact: true }).waitFor();
    expectCalm(open);
  });

  test("a request is played to the end by one button, and the overview shows what waits", async () => {
    const open = await visit("order");
    const { page } = open;
    const { main, press, button, fact, go, rows, outcome, viewed } = consoleOf(page);
    await press("Add an on-site authenticator");
    const id = await sendOrder(page);
    await go("", "Overview");
    const complete = main.getByRole("list", { name: "Requests by state" }).getByRole("link", { name: "complete" });
    const completed = async () => Number.parseInt((await complete.textContent()) ?? "", 10);
    const before = await completed();
    await rows("Open requests", "2 keys to be shipped, 1 key to be enrolled on site")
      .locator(`a[href="#/request/${id}"]`)
      .click();
    await viewed("Request");
    await press("Play to the end");
    await expectState(page, "complete");
    await go("", "Overview");
    await expect.poll(completed, patient).toBeGreaterThan(before);
    await outcome("202 POST /admin/functions/dataCleanup", () =>
      press("Run now", rows("Next runs of the timers", "dataCleanup")),
    );
    const health = fact("Health").locator(".badge");
    await expect.poll(() => health.allTextContents(), patient).toEqual(["healthy", "healthy"]);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await button("Copy: token of the Connector").click();
    await expect.poll(() => inPage(page, "navigator.clipboard.readText()"), patient).toMatch(/^connector_/);
    expectCalm(open);
  });

  test("a fault is set, strikes the next order, and is used up; what the peer was asked is shown", async () => {
    const open = await visit("peer/delivery");
    const { page } = open;
    const { main, note, field, press, go, rows, outcome } = consoleOf(page);
    await main.getByText("No fault is set.").waitFor();
    await field("Status").fill("422");
    await field("Body").fill('{"code":"validation_error","message":"No such street"}');
    await field("Method").selectOption("POST");
    await field("Path").fill("^/v1/fpr/shipments$");
    await press("Set a fault");
    await rows("Faults that are set", "refuse").getByText("POST ^/v1/fpr/shipments$").waitFor();

    await go("order", "Order");
    await outcome("400 POST /v2/credential-requests", () => press("Send the order"));
    await note.filter({ hasText: /delivery_error.*No such street/s }).waitFor();
    expect(page.url()).toMatch(/#\/order$/);

    await go("peer/delivery", "Peer delivery");
    await main.getByText("No fault is set.").waitFor();
    const newest = rows("Calls, the newest first", "POST /v1/fpr/shipments").first();
    expect(await newest.getByRole("cell").last().textContent()).toBe("422");

    await field("Kind").selectOption("delay");
    await field("Milliseconds").fill("5");
    await press("Set a fault");
    await rows("Faults that are set", "ms: 5").waitFor();
    await press("Clear all faults");
    await main.getByText("No fault is set.").waitFor();
    expectCalm(open);
  });

  test("an order is changed by its JSON as by its fields, also to one that is refused", async () => {
    const open = await visit("order");
    const { page } = open;
    const { main, note, field, card, press, outcome } = consoleOf(page);
    await main.getByText("The JSON that is sent", { exact: true }).click();
    const json = field("Body of the call");
    const shown = async () => JSON.parse(await json.inputValue());
    const body = await shown();
    expect(body.shipment.shipment_items.map((item: { credentials: unknown[] }) => item.credentials.length)).toEqual([
      1, 2,
    ]);
    await press("Add an on-site authenticator");
    await field("Company").fill("Engines");
    await expect.poll(shown, patient).toMatchObject({
      recipient: { company: "Engines" },
      authenticators: [{ credentials: [{ user_id: "ada@example.com" }] }],
    });
    body.shipment.shipment_items[0].pin_request.length = 99;
    await json.fill(JSON.stringify(body));
    const length = field("PIN length", card("Shipped key 1"));
    await expect.poll(() => length.inputValue(), patient).toBe("99");
    await outcome("400 POST", () => press("Send the order"));
    await note.filter({ hasText: "shipment.shipment_items[0].pin_request.length" }).waitFor();
    await expect.poll(() => length.getAttribute("aria-invalid"), patient).toBe("true");
    const focused = () => inPage(page, "document.activeElement.dataset.path");
    await expect.poll(focused, patient).toMatch(/pin_request\.length$/);
    await main.locator(".field").filter({ hasText: "PIN length" }).locator(".field-problem").waitFor();
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
    await main.locator(".drop").dispatchEvent("drop", { dataTransfer });
    await expect.poll(() => field("Company").inputValue(), patient).toBe("Dropped");
    await json.fill("no JSON");
    await outcome("400 POST", () => press("Send the order"));
    await note.filter({ hasText: /body.*JSON/i }).waitFor();
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
    const operation = page.locator('[id="connector/tag/credential-requests/POST/v2/credential-requests"]');
    const language = operation.getByRole("button", { name: /^(Shell|Python|JavaScript) / });
    const programs = [
      ["Curl", "curl "],
      ["Requests", "requests.post("],
      ["Fetch", "fetch("],
    ] as const;
    for (const [option, program] of programs) {
      await language.click();
      await page.getByRole("option", { name: option, exact: true }).click();
      const block = operation.locator(".scalar-code-block", { hasText: program });
      await block.hover();
      await block.getByRole("button").click();
      const copied = () => inPage<string>(page, "navigator.clipboard.readText()");
      await expect.poll(copied, patient).toContain(program);
      expect(await copied()).toContain(`${facts.host}/v2/credential-requests`);
      expect(await copied()).toContain(`Bearer ${facts.tokens.connector}`);
    }
    await operation.getByRole("button", { name: /^Test Request/ }).click();
    const response = page.waitForResponse(/\/reference\/proxy\?/);
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Send Request/ })
      .click();
    expect((await response).status()).toBe(201);
    expect(asked.filter(url => !url.startsWith(`${address}/`) && !/^(data|blob):/.test(url))).toEqual([]);
  }, 240_000);
});

test("maintenance is started by the buttons, and its report is shown", async () => {
  const open = await visit("maintenance");
  const { page } = open;
  const { field, card, press, outcome, confirm } = consoleOf(page);
  await outcome("202 POST /admin/functions/dataCleanup", () => press("dataCleanup"));
  const report = async (task: string) =>
    JSON.parse((await card(`${task} has reported`).getByRole("region", { name: "Report" }).textContent()) ?? "");
  await press("Check every peer");
  expect(await report("connector/check-peers")).toMatchObject({ data: { ok: true } });
  await field("Who").fill("nobody@example.com");
  await press("Erase one recipient");
  await confirm("Erase");
  expect(await report("connector/erase")).toMatchObject({ data: { erased: 0 } });
  for (const [service, wing] of [
    ["Connector", "connector"],
    ["Authentication server", "auth"],
  ] as const) {
    await outcome(`200 POST /maintenance/${wing}/back-up`, () => press("Back up", card(service)));
    await card(`${wing}/back-up has reported`).waitFor();
  }
  expectCalm(open);
});

/** A line of a key maker's personalisation log. */
const personalised = `508328,ccccccbchvth,83cebdfb7b93,${"a1".repeat(16)},,2013-12-12T08:43:17,`;

describe("the authentication server in the page", () => {
  const password = "seven green herons";

  test("a user signs in with software keys of every kind, and not without one", async () => {
    const open = await visit("users");
    const { page } = open;
    const { main, note, field, card, press, fact, go, rows, outcome, confirm, viewed } = consoleOf(page);
    const user = main.getByRole("link", { name: "Lovelace", exact: true });
    await field("Username").fill("Lovelace");
    await field("Password").fill(password);
    await outcome("201 POST /core/users", () => press("Create"));
    const kinds = ["hotp", "totp", "yubico"];
    await go("otpkeys", "OTP keys");
    for (const kind of kinds) {
      await field("Kind").selectOption(kind);
      await field("Prefix").fill(`key${kind}`);
      if (kind === "totp") await field("Algorithm").selectOption("SHA256");
      await outcome("201 POST /core/otpkeys", () => press("Import"));
      await rows("Keys", `key${kind}`).getByText("enabled", { exact: true }).waitFor();
    }
    await main.locator("input[type=file]").setInputFiles({
      name: "keys.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(`${personalised}\nnonsense`),
    });
    for (const result of ["imported", "refused"])
      await main.getByRole("table", { name: "Lines of the file" }).getByText(result, { exact: true }).waitFor();
    await go("users", "Users");
    await user.click();
    for (const kind of kinds) {
      await field("Prefix of the key").fill(`key${kind}`);
      await outcome(/^2\d\d POST .*\/otpkeys$/, () => press("Assign"));
      await rows("Assigned keys", `key${kind}`).waitFor();
    }

    await go("sign-in", "Sign-in");
    const form = card("Sign in");
    await field("Username", form).fill("Lovelace");
    await field("Password", form).fill(password);
    await outcome("401 POST /client/login", () => press("Log in"));
    for (const kind of kinds) {
      await field("Software key", form).selectOption(`key${kind}`);
      await press("Press the key", form);
      await expect.poll(() => field("OTP", form).inputValue(), patient).toContain(`key${kind}`);
      await outcome("200 POST /client/login", () => press("Log in"));
      await fact("User", card("Session")).getByText("Lovelace", { exact: true }).waitFor();
      await fact("Key used", card("Session")).getByText(`key${kind}`, { exact: true }).waitFor();
      await press("Log out");
      await main.getByText("No session.").waitFor();
    }
    await outcome("200 POST /client/authenticate", () => press("Check without login"));
    // The OTP is used up.
    await note.filter({ hasText: "false" }).waitFor();

    await go("users", "Users");
    await user.click();
    await outcome(/^204 POST .*\/sessions\/delete$/, async () => {
      await press("End all sessions");
      await confirm("End the sessions");
    });
    await fact("Locked until").getByText("Not locked", { exact: true }).waitFor();
    await outcome(/^204 POST .*\/unlock$/, () => press("Unlock"));
    await press("Unassign", rows("Assigned keys", "keyhotp"));
    await confirm("Unassign the key");
    await rows("Assigned keys", "keyhotp").waitFor({ state: "detached" });

    await rows("Assigned keys", "keytotp").getByRole("link").click();
    await viewed("OTP key");
    await field("Valid until").fill("2099-12-31");
    await press("Set the validity");
    await fact("Valid").getByText("until 2099-12-31").waitFor();
    await field("Uses").selectOption("3");
    await press("Issue");
    const issued = main.getByText("shown only once");
    await issued.waitFor();
    await fact("State").getByText("disabled", { exact: true }).waitFor();
    await press("Revoke");
    await confirm("Revoke the code");
    await issued.waitFor({ state: "detached" });

    await go("otpkeys", "OTP keys");
    await rows("Keys", "keyhotp").waitFor();
    await field("State").selectOption("disabled");
    await press("Apply");
    await rows("Keys", "keyhotp").waitFor({ state: "detached" });
    await rows("Keys", "keytotp").waitFor();
    expectCalm(open);
  });

  test("attributes are set and deleted, lists filtered, passwords reset and validated, users deleted", async () => {
    const open = await visit("users");
    const { page } = open;
    const { main, field, card, press, fact, go, rows, outcome, confirm, viewed } = consoleOf(page);
    await press("Create");
    await expect.poll(() => field("Username").getAttribute("aria-invalid"), patient).toBe("true");
    await main.locator(".field").filter({ hasText: "Username" }).locator(".field-problem").waitFor();
    for (const name of ["Augusta", "Babbage"]) {
      await field("Username").fill(name);
      await field("Password").fill(password);
      await outcome("201 POST /core/users", () => press("Create"));
      await rows("Users", name).waitFor();
    }
    await rows("Users", "Augusta").getByRole("link").click();
    await viewed("User");
    await field("Key").fill("colour");
    await field("Value").fill("green");
    await press("Set");
    await rows("Attributes", "colour").getByText("green", { exact: true }).waitFor();
    await field("New password").fill("nine blue herons");
    await outcome(/^204 POST .*\/reset$/, () => press("Reset"));
    await field("Password", card("Validate")).fill("nine blue herons");
    await press("Validate");
    await card("Validate").getByText("Password valid").waitFor();
    await outcome(/^201 POST .*\/reset$/, async () => {
      await press("Reset with a code");
      await confirm("Reset the password");
    });
    await main.getByText("shown only once").waitFor();
    await fact("Code for a new password").getByText("until").waitFor();

    await go("users", "Users");
    await rows("Users", "Babbage").waitFor();
    await field("Has the attribute").fill("colour");
    await field("With this value").fill("green");
    await press("Apply");
    await rows("Users", "Babbage").waitFor({ state: "detached" });
    await rows("Users", "Augusta").getByRole("link").click();
    await press("Delete");
    await confirm("Delete the attribute");
    await rows("Attributes", "colour").waitFor({ state: "detached" });
    await press("Delete this user");
    await confirm("Delete the user");
    await rows("Users", "Babbage").waitFor();
    expect(await rows("Users", "Augusta").count()).toBe(0);
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
    const { page } = await visit("maintenance", { viewport: { width: 320, height: 640 } });
    const { viewed, go } = consoleOf(page);
    await viewed("Maintenance");
    for (const [view, title] of Object.entries(views)) {
      await go(view, title);
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
    const { viewed, heading } = consoleOf(page);
    await viewed("Overview");
    await page.keyboard.press("Tab");
    expect(await inPage(page, "document.activeElement.textContent")).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await inPage(page, "document.activeElement.tagName")).toBe("MAIN");
    await page.getByRole("link", { name: "Peers", exact: true }).focus();
    await page.keyboard.press("Enter");
    await heading("Peers").waitFor();
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
  await consoleOf(page).viewed("Order");
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
