import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startConsole } from "../../../local/console/console.ts";
import type { ControlRoutes } from "../../../local/peers/control.ts";
import { mailPage } from "../../../local/peers/mail/mail-page.ts";
import type { Mail } from "../../../local/peers/mail/message.ts";
import type { HttpAnswer, HttpCall } from "../../../local/peers/peer.ts";
import { startBrowser, type TestBrowser } from "./browser.ts";
import { consoleOf, patient } from "./console-page.ts";
import { type StubSystem, startStubSystem, tokens } from "./stub-system.ts";

const probe = `"><img src=/probe onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script><a href="javascript:hacked=1">x</a>`;
let browser: TestBrowser;
let system: StubSystem;

beforeAll(async () => {
  [system, browser] = await Promise.all([
    startStubSystem({ answer: hostileHost, control: hostilePeer }),
    startBrowser(),
  ]);
});

afterEach(() => browser.closePages());

afterAll(async () => {
  await Promise.all([browser?.close(), system?.close()]);
});

const credential = {
  idp_id: probe,
  relying_party_id: probe,
  user_id: probe,
  state: probe,
  retryable_until: probe,
  error_message: probe,
};
const key = { id: probe, name: probe, state: probe, credentials: [credential] };
const tracking = { number: probe, link: "javascript:globalThis.hacked=1" };
const shipment = { shipment_id: probe, tracking, shipment_items: [], mailing_address: { city: probe } };
const attributes = Object.fromEntries([[probe, probe]]);
const authenticatorRequest = {
  id: `1.${probe}`,
  state: "waiting",
  name: probe,
  recipient: { email: probe, first_name: probe, last_name: probe },
  preferred: probe,
  expiresAt: probe,
  serialNumber: probe,
  shownPin: probe,
  errorMessage: probe,
  credentials: [{ user: probe, relyingParty: probe, credentialId: probe }],
};

/** A host whose every text is foreign. */
function hostileHost({ path, query }: HttpCall): HttpAnswer {
  const deliveries = [{ sink: 1, state: probe, delivered_at: probe, error_message: probe }];
  const event = { id: probe, type: probe, time: probe, data: { key_id: probe, idp_id: probe }, deliveries };
  const sink = { sink: 1, state: probe, failed_attempts: 1, failed_at: probe, error_message: probe };
  const refusal = { at: probe, reason: probe, otp_outcome: probe, otpkey: probe };
  const bodies: readonly (readonly [RegExp, unknown])[] = [
    [/^\/v2\/credential-requests\/[^/]+\/events$/, { data: [event], sinks: [sink] }],
    [
      /^\/v2\/credential-requests\/./,
      { data: { credential_request_id: probe, state: probe, error_message: probe, authenticators: [key], shipment } },
    ],
    [
      /^\/v2\/credential-requests$/,
      [{ credential_request_id: probe, state: probe, created_at: probe, authenticators: [key] }],
    ],
    [/^\/core\/users$/, [{ id: 1, name: probe }]],
    [/^\/core\/users\/1$/, { id: 1, name: probe, otpkeys: [probe], attributes }],
    [/^\/core\/users\/1\/lock$/, { failures: 0, locked_until: null, running_attempts: 0, last_refusal: refusal }],
    [/^\/core\/otpkeys$/, [{ id: 1, prefix: probe, enabled: true }]],
    [/^\/core\/otpkeys\/./, { id: 1, prefix: probe, enabled: true, attributes }],
    [/^\/client\/status$/, { username: probe, user_id: 1, prefix: probe, _creation_time: 1, _accessed_time: 1 }],
  ];
  const [, body = { session: probe }] = bodies.find(([pattern]) => pattern.test(path)) ?? [];
  const next = query.has("$skiptoken")
    ? {}
    : { link: '<https://other.example/v2/credential-requests?$skiptoken=2>; rel="next"' };
  return { status: 200, headers: { "retry-after": probe.replaceAll(/[^ -~]/g, ""), ...next }, body };
}

/** Markup that would run, fetch, send or go away. */
const mailHtml = (address: string): string => `<h1>Your PIN</h1>
  <script>parent.hacked=1;document.body.textContent="hacked"</script>
  <img src="${address}/probe" onerror="parent.hacked=1"><link rel="stylesheet" href="${address}/probe">
  <form action="${address}/probe"><button>Send</button></form><a href="${address}/probe">Go</a>
  <meta http-equiv="refresh" content="0;url=${address}/probe"><p>after</p>`;

const manyMails: readonly Mail[] = Array.from({ length: 1000 }, (_, at) => ({
  id: String(at + 2),
  operationId: "",
  from: "keys@example.com",
  to: [`user-${at}@example.com`],
  subject: `PIN ${at}`,
  text: undefined,
  html: undefined,
  at: new Date(at * 1000).toISOString(),
}));

const hostilePeer: ControlRoutes = {
  "GET mails": ({ query }) => mailPage([...manyMails, hostileMail()], query),
  "GET mails/1": () => hostileMail(),
  "GET authenticator-requests": () => [authenticatorRequest],
  "GET requests": () => ({ total: 1, hanging: 0, requests: [{ method: "GET", path: probe, at: 0, status: 200 }] }),
  "GET faults": () => [{ kind: probe, times: 1, method: probe, path: probe }],
};

const hostileMail = (): Mail => ({
  id: "1",
  operationId: "",
  from: probe,
  to: [probe],
  subject: probe,
  text: probe,
  html: mailHtml(system.host.url),
  at: probe,
});

/** Nothing that a text tells has become an element or has run. */
async function expectText(page: Page, view: string): Promise<void> {
  await expect.poll(() => page.locator("main").textContent(), { ...patient, message: view }).toContain(probe);
  expect(await page.locator('main :is(img, script, a[href^="javascript"])').count(), view).toBe(0);
  expect(await page.evaluate("globalThis.hacked"), view).toBeUndefined();
}

const titles: Readonly<Record<string, string>> = {
  "request/1": "Request",
  "on-site": "On site",
  users: "Users",
  "user/1": "User",
  otpkeys: "OTP keys",
  "otpkey/1": "OTP key",
  "peer/mail": "Peer mail",
};

describe("text from elsewhere stays text", () => {
  test("in every view that shows any", async () => {
    for (const event of [probe, "peer_call", "state_change"]) {
      const fields = { credentialRequestId: "1", url: probe, method: probe, request: probe, name: probe, to: probe };
      system.console.addLine(JSON.stringify({ event, ...fields }));
    }
    const { page, troubles } = await browser.open(system.console.url);
    for (const [view, title] of Object.entries(titles)) {
      await page.goto(`${system.console.url}/#/${view}`);
      await consoleOf(page).viewed(title);
      await expectText(page, view);
    }
    expect(troubles).toEqual([]);
    await page.goto(`${system.console.url}/#/mailbox/1`);
    await consoleOf(page).viewed("Mailbox");
    await expectText(page, "mailbox");
  });

  test("in the timeline of a request", async () => {
    const { page, troubles } = await browser.open(`${system.console.url}/#/request/1`);
    await expect.poll(() => page.locator(".timeline li").count(), patient).toBe(4);
    await expectText(page, "request");
    expect(troubles).toEqual([]);
  });

  test("in a list with a next page, which is requested from the host only", async () => {
    const { page, troubles, asked } = await browser.open(`${system.console.url}/#/requests`);
    const { press, button } = consoleOf(page);
    await press("Next");
    await button("Next").waitFor({ state: "detached" });
    await expectText(page, "requests");
    const pages = system.calls.filter(({ query }) => query.has("$skiptoken")).map(({ path, url }) => path + url.search);
    expect([...new Set(pages)]).toEqual(["/v2/credential-requests?%24top=50&%24skiptoken=2"]);
    expect(asked.filter(url => !url.startsWith(system.console.url))).toEqual([]);
    expect(troubles).toEqual([]);
  });

  test("in the response of a session and of a call", async () => {
    const { page, troubles } = await browser.open(`${system.console.url}/#/sign-in`);
    const { press, note, fact } = consoleOf(page);
    await press("Log in");
    await note.filter({ hasText: probe.slice(0, 20) }).waitFor();
    await fact("User").getByText(probe).waitFor();
    await expectText(page, "sign-in");
    expect(troubles).toEqual([]);
  });

  test("in an address: a view that does not exist and a peer of that name", async () => {
    const { page } = await browser.open(`${system.console.url}/#/peer/${encodeURIComponent(probe)}`);
    await consoleOf(page).main.getByText("There is no peer").waitFor();
    await expectText(page, "peer");
  });
});

test("a mail is shown as it looks, and can do and fetch nothing", async () => {
  const { page } = await browser.open(`${system.console.url}/#/mailbox/1`);
  const frame = page.frameLocator("iframe");
  await frame.getByText("after").waitFor();
  expect(await frame.locator("h1").textContent()).toBe("Your PIN");
  // Beside the policy that the mail comes with: each would do alone.
  expect(await page.locator("iframe").getAttribute("sandbox")).toBe("");
  await frame.getByRole("button", { name: "Send" }).click();
  await frame.getByRole("link", { name: "Go" }).click();
  expect(await page.evaluate("globalThis.hacked")).toBeUndefined();
  expect(system.calls.filter(({ path }) => path === "/probe")).toEqual([]);
});

test("the page of a mail has a policy that allows styles and embedded images only", async () => {
  const { headers } = await fetch(`${system.console.url}/mails/1`, { headers: { "x-console": "1" } });
  expect(headers.get("content-security-policy")).toBe(
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
  );
});

test("a page of another origin can neither call the console nor frame it", async () => {
  const own = system.console.url;
  const { page } = await browser.open(system.host.url.replace("127.0.0.1", "localhost"));
  const reached = () => system.calls.filter(({ path }) => /^\/v2\/(operations|x)/.test(path));
  const tried = await page.evaluate(`Promise.all([
    fetch("${own}/api/host/v2/operations/process-shipments", { mode: "no-cors" }).then(() => "sent", () => "refused"),
    fetch("${own}/api/host/v2/operations/process-shipments", { headers: { "x-console": "1" } }).then(() => "sent", () => "refused"),
    fetch("${own}/api/host/v2/x", { method: "POST", mode: "no-cors", body: "{}" }).then(() => "sent", () => "refused"),
    new Promise(done => {
      const frame = document.createElement("iframe");
      frame.onload = () => done("loaded");
      frame.src = "${own}/";
      document.body.append(frame);
    }),
  ])`);
  expect(tried).toEqual(["refused", "refused", "refused", "loaded"]);
  expect(await page.frameLocator("iframe").getByText("Local console").count()).toBe(0);
  expect(reached()).toEqual([]);
});

test("a mailbox of a thousand mails lists fifty, shows more, filters, and has one open mail", async () => {
  const { page } = await browser.open(`${system.console.url}/#/mailbox`);
  await page.getByText("50 of 1001").waitFor();
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByText("100 of 1001").waitFor();
  await page.getByLabel("Filter").fill("USER-123@");
  await page.getByText("1 of 1 that match, 1001 in all").waitFor();
  await page.getByRole("link", { name: "PIN 123" }).waitFor();
  await page.getByLabel("Filter").fill("onerror");
  await page.getByRole("link", { name: "onerror" }).click();
  // The only one: two would be refused.
  await page.locator("iframe").waitFor();
});

test("an open page reports that the system does not respond, and continues when it runs again", async () => {
  const { connectionString, mail } = system;
  const options = { connectionString, tokens, peers: { mail: mail.url, rfpr: mail.url } };
  const before = await startConsole(options);
  const { page } = await browser.open(`${before.url}/#/mailbox`);
  await page.getByText("50 of 1001").waitFor();
  await page.getByLabel("Filter").fill("user-12");
  await before.close();
  await page.getByRole("alert").getByText("The console is not responding.").waitFor();
  const after = await startConsole({ ...options, port: Number(new URL(before.url).port) });
  try {
    await page.getByRole("alert").getByText("The console is not responding.").waitFor({ state: "detached" });
    await consoleOf(page).note.filter({ hasText: "The console answers again." }).waitFor();
    // What was typed is still there, and the list goes on.
    expect(await page.getByLabel("Filter").inputValue()).toBe("user-12");
    await page.getByText("that match, 1001 in all").waitFor();
  } finally {
    await after.close();
  }
});

test("a hidden page loads nothing, and continues when it is shown again", async () => {
  const { page, asked } = await browser.open("about:blank");
  await page.clock.install();
  await page.goto(`${system.console.url}/#/mailbox`);
  await page.getByText("50 of 1001").waitFor();
  const hide = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true })`);
  await hide(true);
  const before = asked.length;
  await page.clock.runFor(30_000);
  expect(asked.length).toBe(before);
  await hide(false);
  await page.clock.runFor(30_000);
  await expect.poll(() => asked.length, patient).toBeGreaterThan(before);
});

test("several clicks on a button make one call until it has ended", async () => {
  const { page } = await browser.open(`${system.console.url}/#/users`);
  await page.getByLabel("Username").fill("ada");
  const creates = () => system.calls.filter(({ method, path }) => `${method} ${path}` === "POST /core/users").length;
  const before = creates();
  await page.evaluate("for (const _ of [1, 2, 3]) document.querySelector('main form button').click()");
  await consoleOf(page).note.filter({ hasText: "POST /core/users" }).waitFor();
  expect(creates()).toBe(before + 1);
});

test("nothing is deleted by leaving the view that asks for a confirmation", async () => {
  const { page, asked } = await browser.open(`${system.console.url}/#/mailbox`);
  await page.getByRole("button", { name: "Empty the mailbox" }).click();
  await page.getByRole("dialog").waitFor();
  await page.evaluate('location.hash = "#/users"');
  await page.getByRole("heading", { level: 1, name: "Users" }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  // The list has a query; the call that deletes has none.
  expect(asked.filter(url => url.endsWith("/api/peers/mail/mails"))).toEqual([]);
});
