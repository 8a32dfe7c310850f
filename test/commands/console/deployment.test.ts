import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { sampleRequest } from "../../../local/start/sample-request.ts";
import { type OpenPage, startBrowser, type TestBrowser, violations } from "../../local/console/browser.ts";
import { consoleOf, patient } from "../../local/console/console-page.ts";
import { call } from "../../local/host/http/raw-request.ts";
import { startAuthHost } from "../../support/auth/host.ts";
import { everyIdpOfFile } from "../../support/connector/in-a-state.ts";
import { compileCache } from "../../support/host/compile-cache.ts";
import { operatedConnector, tokenOf, userWithRefusedOtp } from "../operated-connector.ts";

/** A deployment as its operator sees it: two addresses, and no access to peers, storage or the host. */
const auth = await startAuthHost(everyIdpOfFile);
let browser: TestBrowser;
const children: ChildProcess[] = [];
let requestId: string;
let activeId: string;
let replacementId: string;

/** Starts the console as an operator does. Returns the address that it prints. */
async function startConsole(core: string, connector: string, coreUrl = auth.coreUrl): Promise<string> {
  const child = spawn(process.execPath, ["commands/console.ts", "--core", coreUrl, "--connector", auth.connectorUrl], {
    env: { PATH: process.env.PATH, ...compileCache, CORE_TOKEN: core, CONNECTOR_TOKEN: connector },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return /^Console: (\S+)$/.exec(line)?.[1] ?? "";
}

/** Starts the console with static API tokens of a role. */
async function startConsoleAs(role: string): Promise<string> {
  const [core, connector] = [await tokenOf(auth, auth.coreUrl, role), await tokenOf(auth, auth.connectorUrl, role)];
  return startConsole(core, connector);
}

beforeAll(async () => {
  const { activeRequest, callConnector } = operatedConnector(auth);
  browser = await startBrowser();
  await auth.core("POST", "/users", { username: "Ada Lovelace", password: "seven green herons" });
  await auth.core("POST", "/users", { username: "Charles Babbage", password: "seven blue herons" });
  await auth.core("POST", "/otpkeys", { prefix: "cccccccccccb", kind: "hotp", secret: "ab".repeat(20), digits: 6 });
  await auth.core("POST", "/users/ada%20lovelace/otpkeys", { otpkey: "cccccccccccb" });
  await userWithRefusedOtp(auth, "Grace Hopper", "cccccccccccd");
  auth.peers.sink.fail({ kind: "refuse", status: 503, times: 1000 });
  const { shipment, ...rest } = sampleRequest;
  const created = await callConnector("POST", "/v2/credential-requests", {
    ...rest,
    shipment: { ...shipment, customer_reference: "REQ0012345" },
  });
  requestId = created.data.credential_request_id ?? "";
  activeId = await activeRequest(
    ["marie@example.com", "irene@example.com"],
    ["lise@example.com"],
    ["hedy@example.com"],
  );
  const credentials = ["marie@example.com", "irene@example.com"].map(user_id => ({ user_id }));
  const replacement = await callConnector("POST", "/v2/credential-requests", {
    ...rest,
    shipment: { ...shipment, shipment_items: [{ ...shipment.shipment_items[0], credentials }] },
    replaces: { credential_request_id: activeId, key_id: "s-01-001", reason: "lost", revoke: "when_active" },
  });
  replacementId = replacement.data.credential_request_id ?? "";
});
afterEach(() => browser.closePages());
afterAll(async () => {
  for (const child of children) child.kill();
  await browser.close();
});

/** The page works without what its policy forbids, and asks its own server only. */
function expectCalm({ troubles, asked }: OpenPage, address: string): void {
  expect(troubles).toEqual([]);
  expect(asked.filter(url => !url.startsWith(new URL(address).origin))).toEqual([]);
}

describe("with a token of the role `support`", () => {
  test("a help desk finds an order by its ticket, and helps a user, and is offered nothing more", async () => {
    const address = await startConsoleAs("support");
    const open = await browser.open(address, { viewport: { width: 360, height: 640 } });
    const { page } = open;
    const { main, field, press, button, fact, rows, outcome, confirm, viewed, go } = consoleOf(page);
    const barHeight = () => page.locator("#outcome").evaluate(each => each.getBoundingClientRect().height);
    const link = (name: string) => page.getByRole("link", { name, exact: true });
    await viewed("Overview");
    expect(page.url()).not.toContain("key=");
    await page.getByRole("banner").getByText(new URL(auth.coreUrl).host, { exact: true }).waitFor();
    const height = await barHeight();
    for (const name of ["Peers", "Mailbox", "Maintenance", "Sign-in", "On site"])
      expect(await link(name).count(), name).toBe(0);

    await link("Requests").click();
    await field("Your reference").fill("REQ0012345");
    await press("Find");
    const found = rows("Credential requests", "REQ0012345");
    await found.filter({ hasText: requestId }).getByRole("link").click();
    await fact("Your reference").getByText("REQ0012345", { exact: true }).waitFor();
    await button("Cancel").waitFor();
    for (const name of ["Process shipments", "Play to the end", "Ship the keys"])
      expect(await button(name).count(), name).toBe(0);
    for (const name of ["Order", "Order a key"]) expect(await link(name).count(), name).toBe(0);

    await go(`request/${activeId}`, "Request");
    await fact("Sink 1").filter({ hasText: "failed since it accepted an event" }).waitFor();
    await outcome(/^200 POST .*resend-pin$/, async () => {
      await press("Resend PIN emails");
      await page.getByRole("dialog").getByText("They go to ada@example.com.").waitFor();
      await confirm("Resend");
    });

    await link("Users").click();
    await viewed("Users");
    await rows("Users", "Grace Hopper").getByRole("link").click();
    const refusal = fact("Last refusal");
    await refusal.filter({ hasText: /: wrong_otp invalid cccccccccccd \(docs\/operate\.md, / }).waitFor();
    await refusal.getByRole("link", { name: "cccccccccccd" }).click();
    await viewed("OTP key");

    await link("Users").click();
    await viewed("Users");
    await rows("Users", "Charles Babbage").waitFor();
    expect(await button("Create").count()).toBe(0);
    await field("Name begins with").fill("ada");
    await press("Apply");
    await rows("Users", "Charles Babbage").waitFor({ state: "detached" });
    await rows("Users", "Ada Lovelace").getByRole("link").click();
    await viewed("User");
    await outcome(/^204 POST .*unlock$/, () => press("Unlock"));
    await press("Disable");
    await confirm("Disable the user");
    await fact("State").getByText("disabled", { exact: true }).waitFor();
    await press("Enable");
    await fact("State").getByText("enabled", { exact: true }).waitFor();
    await outcome(/^204 POST .*sessions.delete$/, async () => {
      await press("End all sessions");
      await confirm("End the sessions");
    });
    for (const name of ["Rename", "Reset", "Validate", "Delete this user", "Assign", "Unassign"])
      expect(await button(name).count(), name).toBe(0);

    await rows("Assigned keys", "cccccccccccb").getByRole("link").click();
    await outcome(/^201 POST .*temporary-code$/, () => press("Issue"));
    await main.getByText("shown only once").waitFor();
    // What the call came to takes no place from the code.
    expect(await barHeight()).toBe(height);
    await fact("Temporary code")
      .getByText(/^1 use left, until /)
      .waitFor();
    expect(await button("Delete this key").count()).toBe(0);
    await link("Ada Lovelace").click();
    await rows("Assigned keys", "disabled temporary code").waitFor();
    expectCalm(open, address);
  });
});

test("a token that is not valid and an API that does not respond are named, not shown as nothing to do", async () => {
  const address = await startConsole("core_x", "connector_x", "http://127.0.0.1:1/core");
  const { page } = await browser.open(address);
  const { main } = consoleOf(page);
  await main.getByText("The host answers 401: The bearer token is not valid.").waitFor();
  await main.getByText(/^The API is not responding/).waitFor();
  await main.getByText("healthy", { exact: true }).waitFor();
  expect(await main.getByText("Nothing waits").count()).toBe(0);
  await page.getByRole("link", { name: "Users", exact: true }).click();
  await main.getByText("The Core API does not respond at http://127.0.0.1:1/core.").waitFor();
});

describe("the security keys of a deployment", () => {
  test("are revoked one credential, one key, and one person at a time by a help desk", async () => {
    const address = await startConsoleAs("support");
    const open = await browser.open(address);
    const { page } = open;
    const { main, field, press, button, card, rows, confirm, viewed, go } = consoleOf(page);
    await viewed("Overview");
    await go(`request/${activeId}`, "Request");
    const item = (user: string) => main.locator(".credentials > li").filter({ hasText: user });
    await press("Revoke", item("marie@example.com"));
    await page.getByRole("dialog").getByText("Revoke this credential?").waitFor();
    expect(await violations(page)).toEqual([]);
    await confirm("Revoke the credential");
    await item("marie@example.com").getByText("revoked", { exact: true }).waitFor();
    expect(await item("marie@example.com").getByRole("button").count()).toBe(0);
    await button("Revoke", item("irene@example.com")).waitFor();
    // With one active credential left, the key has no button of its own.
    expect(await button("Revoke the key").count()).toBe(0);

    await page.getByRole("link", { name: "Security keys" }).click();
    await viewed("Security keys");
    const others = rows("Security keys", "irene@example.com");
    expect(await others.count()).toBe(2);
    await field("User").fill("LISE@example.com");
    await press("Apply");
    await expect.poll(() => others.count(), patient).toBe(0);
    auth.peers.entra.fail({ kind: "refuse", method: "DELETE", times: 3, status: 503 });
    const lise = rows("Security keys", "lise@example.com");
    await press("Revoke the key", lise);
    await confirm("Revoke it");
    await lise.getByText("revoking", { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);

    await page.getByRole("link", { name: "Offboard" }).click();
    await press("Show what would be done");
    await main.getByText("give either user_id or email", { exact: true }).waitFor();
    await field("User").fill("hedy@example.com");
    await press("Show what would be done");
    await card("What would be done for hedy@example.com").waitFor();
    const hedy = rows("Credentials of the person", "hedy@example.com");
    await hedy.getByText("active", { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await press("Offboard");
    await confirm("Offboard the person");
    await main.getByText("None of these credentials can be used any more.").waitFor();
    await hedy.getByText("revoked", { exact: true }).waitFor();
    expect(await button("Repeat").count()).toBe(0);
    expectCalm(open, address);
  });
});

test("a credential that may be registered is removed, or ended by a help desk that has looked", async () => {
  const { requestInDoubt } = operatedConnector(auth);
  const id = await requestInDoubt("maria@example.com", "chien@example.com", "rosalyn@example.com");
  const { page } = await browser.open(await startConsoleAs("support"));
  const { main, field, press, button, rows, outcome, confirm, viewed, go } = consoleOf(page);
  await viewed("Overview");
  await go(`request/${id}`, "Request");
  const item = (user: string) => main.locator(".credentials > li").filter({ hasText: user });
  const [maria, chien] = [item("maria@example.com"), item("chien@example.com")];
  await maria.getByText("may be registered", { exact: true }).waitFor();
  await button("Revoke the key").waitFor();
  expect(await violations(page)).toEqual([]);

  await press("Revoke", maria);
  await confirm("Revoke the credential");
  await maria.getByText("revoked", { exact: true }).waitFor();
  expect(await maria.getByRole("button").count()).toBe(0);
  expect(await maria.getByText("may be registered", { exact: true }).count()).toBe(0);

  const before = auth.peers.aic.requests().length;
  await press("Not registered", chien);
  await page.getByRole("dialog").getByText("aic: chien@example.com does not have this key there").waitFor();
  await confirm("It is not registered");
  await chien.getByText("revoked", { exact: true }).waitFor();
  expect(auth.peers.aic.requests()).toHaveLength(before);

  await go("security-keys", "Security keys");
  await field("User").fill("rosalyn@example.com");
  await press("Apply");
  const rosalyn = rows("Security keys", "rosalyn@example.com");
  await rosalyn.getByText("may be registered", { exact: true }).waitFor();
  await button("Revoke the key", rosalyn).waitFor();
  await outcome(/^200 POST .*credentials\/3\/revoke$/, async () => {
    await press("Not registered", rosalyn);
    await confirm("It is not registered");
  });
  await rosalyn.getByText("revoked", { exact: true }).waitFor();
  expect(await rosalyn.getByRole("button").count()).toBe(0);
});

describe("with a token of the role `read`", () => {
  test("everything is shown and nothing can be changed", async () => {
    const address = await startConsoleAs("read");
    const open = await browser.open(address, { viewport: { width: 320, height: 640 } });
    const { page } = open;
    const { main, viewed, go } = consoleOf(page);
    await viewed("Overview");
    await page.getByRole("link", { name: "Security keys" }).waitFor();
    expect(await page.getByRole("link", { name: "Offboard" }).count()).toBe(0);
    for (const [view, title, text] of [
      [`request/${requestId}`, "Request", "REQ0012345"],
      [`request/${activeId}`, "Request", "replaced by a new key"],
      // This role must not learn whether a guess of the password was right.
      ["user/grace%20hopper", "User", /: wrong_credentials *\(docs/],
      [
        `request/${replacementId}`,
        "Request",
        /It replaces a key: lost\..*Sink 1 *active *\d+ calls? failed since .*, the last .*503/s,
      ],
      ["security-keys", "Security keys", "irene@example.com"],
      ["user/ada%20lovelace", "User", "Ada Lovelace"],
      ["otpkey/cccccccccccb", "OTP key", "cccccccccccb"],
      ["requests", "Requests", requestId],
      ["users", "Users", "Ada Lovelace"],
      ["otpkeys", "OTP keys", "cccccccccccb"],
    ] as const) {
      await go(view, title);
      await main.filter({ hasText: text }).waitFor();
      const names = await main.locator("button:visible").allTextContents();
      expect(
        names.filter(name => !["Copy", "Find", "Apply", "Next"].includes(name)),
        view,
      ).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), view).toBeLessThanOrEqual(0);
      expect(await violations(page), view).toEqual([]);
    }
    expectCalm(open, address);
  });

  test("the console refuses a call without the secret of its address, and what is no API", async () => {
    const address = await startConsole(auth.token, auth.otherToken);
    const { host, port, hash } = new URL(address);
    const get = (path: string, headers: Readonly<Record<string, string>>) =>
      call({ port: Number(port) }, path, { method: "GET", headers: { host, ...headers } });
    const secret = hash.replace("#key=", "");
    expect((await get("/api/facts", { "x-console": secret })).status).toBe(200);
    for (const wrong of ["1", "", secret.slice(1), secret.toLowerCase()])
      expect((await get("/api/facts", { "x-console": wrong })).status, wrong).toBe(403);
    for (const path of [
      "tokens",
      "host/maintenance/auth/back-up",
      "host/admin/functions/x",
      "host/api-tokens",
      "peers/mail/mails",
    ])
      expect((await get(`/api/${path}`, { "x-console": secret })).status, path).toBe(404);
    for (const text of [(await get("/api/facts", { "x-console": secret })).text, (await get("/", {})).text])
      for (const token of [auth.token, auth.otherToken, secret]) expect(text).not.toContain(token);
  });
});

test("a refusal is shown in words, with the time after which to try again", async () => {
  const address = await startConsole(auth.token, auth.otherToken);
  const { page } = await browser.open(address);
  const { activeRequest, callConnector } = operatedConnector(auth);
  const id = await activeRequest(["often@example.com"]);
  for (let sent = 1; sent <= 5; sent++) await callConnector("POST", `/v2/credential-requests/${id}/resend-pin`);
  const { note, press, viewed, go, outcome, confirm } = consoleOf(page);
  await viewed("Overview");
  await go(`request/${id}`, "Request");
  await outcome("429 POST", async () => {
    await press("Resend PIN emails");
    await confirm("Resend");
  });
  await note.filter({ hasText: /The PIN was resent too often\. Try again in \d+ minutes\./ }).waitFor();
});
