import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { sampleRequest } from "../../local/start/sample-request.ts";
import { startAuthHost } from "../support/auth/host.ts";
import { everyIdpOfFile } from "../support/connector/in-a-state.ts";
import { compileCache } from "../support/host/compile-cache.ts";
import { startCoreProxy } from "./core-proxy.ts";
import { operatedConnector, tokenOf, userWithRefusedOtp } from "./operated-connector.ts";

const auth = await startAuthHost(everyIdpOfFile);

async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  url = command === "requests" ? auth.connectorUrl : auth.coreUrl,
) {
  const child = spawn(process.execPath, [`commands/${command}.ts`, ...args, "--url", url], {
    env: { PATH: process.env.PATH, ...compileCache, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [[code], out, error] = await Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]);
  return { code: code as number, out, error };
}
const users = (...args: readonly string[]) => run("users", args, { API_TOKEN: auth.token });
const requests = (...args: readonly string[]) => run("requests", args, { API_TOKEN: auth.otherToken });

const { callConnector, activeRequest, requestInDoubt } = operatedConnector(auth);

/** Orders. Returns the id of the request. */
const order = async (body: object): Promise<string> =>
  (await callConnector("POST", "/v2/credential-requests", body)).data.credential_request_id ?? "";

describe("the command for users", () => {
  test("finds users page by page, and shows one with what refuses sign-ins", async () => {
    for (const username of ["Ada Lovelace", "Adele", "Babbage"])
      await auth.core("POST", "/users", { username, password: "seven green herons" });
    const first = await users("find", "--prefix", "ad", "--top", "1");
    expect(first.out).toMatch(/^ID +NAME\n\d+ +Ada Lovelace\n$/);
    const [, page = ""] = /^There are more: --page '([^']+)', or --all\.$/m.exec(first.error) ?? [];
    expect((await users("find", "--prefix", "ad", "--top", "1", "--page", page)).out).toContain("Adele");
    const all = await users("find", "--prefix", "ad", "--top", "1", "--all", "--json");
    expect(JSON.parse(all.out).map(({ name }: { name: string }) => name)).toEqual(["Ada Lovelace", "Adele"]);
    const shown = await users("show", "ada lovelace");
    expect(shown).toMatchObject({ code: 0, error: "" });
    expect(shown.out).toMatch(/^Name +Ada Lovelace$/m);
    expect(shown.out).toMatch(/^Locked until +not locked$/m);
  });

  test("unlocks a user, ends the sessions, and prints a temporary code once", async () => {
    expect(await users("unlock", "adele")).toMatchObject({ code: 0, error: "adele is unlocked.\n" });
    expect(await users("disable", "adele")).toMatchObject({ code: 0 });
    expect((await users("show", "adele")).out).toMatch(/^State +disabled$/m);
    expect((await users("find", "--disabled")).out).toMatch(/Adele/);
    expect(await users("enable", "adele")).toMatchObject({ code: 0 });
    expect((await users("find", "--disabled")).out).not.toMatch(/Adele/);
    expect(await users("end-sessions", "adele")).toMatchObject({ code: 0 });
    expect(await users("temporary-code", "adele")).toMatchObject({ code: 3, error: "adele has no OTP key.\n" });
    for (const prefix of ["cccccccccccb", "cccccccccccd"]) {
      await auth.core("POST", "/otpkeys", { prefix, kind: "hotp", secret: "ab".repeat(20), digits: 6 });
      await auth.core("POST", "/users/adele/otpkeys", { otpkey: prefix });
    }
    expect(await users("temporary-code", "adele")).toMatchObject({
      code: 2,
      error: expect.stringContaining("choose by --otpkey: cccccccccccb, cccccccccccd"),
    });
    const issued = await users("temporary-code", "adele", "--otpkey", "cccccccccccb", "--uses", "2");
    expect(issued.error).toMatch(/^OTP key cccccccccccb is disabled\. Code for 2 uses until /);
    expect(issued.out).toMatch(/^\S+\n$/);
  });

  test("enables and disables the OTP key of a user, whose state is shown", async () => {
    const state = async () => /^OTP key cccccccccccb +(.*)$/m.exec((await users("show", "adele")).out)?.[1];
    expect(await state()).toMatch(/^disabled, temporary code with 2 uses left until \S+Z$/);
    const chosen = ["adele", "--otpkey", "cccccccccccb"];
    expect(await users("enable-otpkey", ...chosen)).toMatchObject({
      code: 0,
      error: expect.stringMatching(/^OTP key cccccccccccb is enabled\./),
    });
    expect(await state()).toBe("enabled");
    expect(await users("disable-otpkey", ...chosen)).toMatchObject({ code: 0 });
    expect(await users("enable-otpkey", "adele", "--otpkey", "nosuch")).toMatchObject({
      code: 3,
      error: "adele has no such OTP key.\n",
    });
    expect(await state()).toBe("disabled");
    const tooLong = await users("temporary-code", ...chosen, "--hours", "745");
    expect(tooLong).toMatchObject({ code: 2, error: expect.stringContaining("--hours must be") });
  });

  test("names the reason of the last refusal, and where it is explained", async () => {
    const sent = { method: "POST", body: new URLSearchParams({ username: "adele", password: "wrong" }) };
    await fetch(`${auth.clientUrl}/login`, sent);
    expect((await users("lock", "adele")).out).toMatch(/^Last refusal +\S+Z \w+ \(docs\/operate\.md, /m);
  });

  test.each([
    ["support", "wrong_otp invalid cccccccccccf", "cccccccccccf"],
    ["read", "wrong_credentials", "cccccccccccg"],
  ])("shows the role %s of a refused OTP: %s", async (role, shown, prefix) => {
    const username = `refused for ${role}`;
    await userWithRefusedOtp(auth, username, prefix);
    const token = await tokenOf(auth, auth.coreUrl, role);
    const { out } = await run("users", ["show", username], { API_TOKEN: token });
    expect(out).toMatch(new RegExp(`^Last refusal +\\S+Z ${shown} \\(docs`, "m"));
  });

  test("finds and shows users whose password is still the imported one", async () => {
    const hash = "$2b$04$abcdefghijklmnopqrstuuUJf9qAIqFFWObw4K4AvdtuO.PaE5J/W";
    await auth.core("POST", "/users/batch", { users: [{ username: "Hopper", password_hash: hash }] });
    expect((await users("find", "--imported")).out).toMatch(/^ID +NAME\n\d+ +Hopper\n$/);
    expect((await users("show", "hopper")).out).toMatch(/^Password +imported, bcrypt$/m);
  });

  test("resets a password: prints a code once, with which the user sets a new one", async () => {
    const issued = await users("reset", "babbage");
    expect(issued.error).toMatch(/^The password of babbage has ended\. Code for a new one, valid until \S+Z:\n$/);
    expect((await users("show", "babbage")).out).toMatch(/^Code for a new password +until \S+Z$/m);
    const fields = { username: "babbage", code: issued.out.trim(), newpass: "eight green herons" };
    const set = { method: "POST", body: new URLSearchParams(fields) };
    expect((await fetch(`${auth.clientUrl}/password`, set)).status).toBe(200);
    expect(Object.keys(JSON.parse((await users("reset", "babbage", "--json")).out))).toEqual(["code", "valid_until"]);
  });

  test.each([
    [["show", "nobody"], 3, /404/],
    [["lock", "nobody"], 3, /404/],
    [["unlock", "nobody"], 3, /404/],
    [["show"], 2, /needs one argument/],
    [["find", "adele"], 2, /has options only/],
    [["vanish", "adele"], 2, /action must be one of find, show/],
    [["show", "adele", "--nonsense"], 2, /Unknown option/],
    [["find", "--top", "0"], 1, /^--top must be .*400/],
    [["find", "--unused-since", "soon", "--top", "0"], 1, /; --unused-since must be a date/],
  ])("%j ends with %i", async (args, code, error) => {
    expect(await users(...args)).toMatchObject({ code, out: "", error: expect.stringMatching(error) });
  });

  test("says of a change whose answer is lost that it may have been done", async () => {
    const proxy = await startCoreProxy(auth.coreUrl);
    proxy.fail({ kind: "drop", phase: "after", method: "POST" });
    expect(await run("users", ["unlock", "babbage"], { API_TOKEN: auth.token }, `${proxy.url}/core`)).toMatchObject({
      code: 1,
      error: expect.stringMatching(/^\S+ did not respond: .+\. It may have been done: look before you repeat it\.\n$/),
    });
  });

  test("says that nothing was found, and ends with 0", async () => {
    expect(await users("find", "--prefix", "nobody")).toMatchObject({ code: 0, error: "Nothing was found.\n" });
  });

  test("advises what to do about a token that is not valid, and about an address without the API", async () => {
    const refused = await run("users", ["find"], { API_TOKEN: `${auth.token}x` });
    expect(refused).toMatchObject({ code: 1, error: expect.stringMatching(/\(401\) The token may be .*expired/) });
    const child = await run("users", ["find"], { API_TOKEN: auth.token }, `${new URL(auth.coreUrl).origin}/no`);
    expect(child).toMatchObject({ code: 1, error: expect.stringContaining("check the address and its path") });
  });

  test("ends with 1 if the token is of another API, and with 2 without a token", async () => {
    const refused = await run("users", ["find"], { API_TOKEN: auth.otherToken });
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining("(403)") });
    expect(await run("users", ["find"], {})).toMatchObject({
      code: 2,
      error: "API_TOKEN is not set. For help: npm run users -- --help\n",
    });
  });
});

test("requests are found by the ticket's number, shown with their events, and cancelled", async () => {
  const { shipment, ...rest } = sampleRequest;
  await order({ ...rest, shipment: { ...shipment, customer_reference: "REQ0012345" } });
  const found = await requests("find", "--reference", "REQ0012345");
  const [, id = ""] = /^([\w-]{36}) +started +\S+Z +REQ0012345 +ada@example\.com$/m.exec(found.out) ?? [];
  expect(id).not.toBe("");
  expect((await requests("find", "--reference", "REQ9")).out.trim().split("\n")).toHaveLength(1);
  const shown = await requests("show", id);
  expect(shown.out).toMatch(/^PIN emails to +ada@example\.com\nReference +REQ0012345$/m);
  expect((await requests("events", id)).out).toMatch(/^TIME +EVENT +ID +DELIVERIES$/m);

  // What waits to be enrolled on site can be cancelled at any time.
  const other = await order({ ...rest, authenticators: [{ credentials: [{ user_id: "grace@example.com" }] }] });
  const onSite = JSON.parse((await requests("find", "--user", "grace@example.com", "--json")).out);
  expect(onSite).toMatchObject([{ credential_request_id: other }]);
  expect(await requests("resend-pin", other)).toMatchObject({ code: 1, error: expect.stringContaining("(409)") });
  expect((await requests("cancel", other)).out).toMatch(/^State +cancelled$/m);
  expect(await requests("show", "unknown")).toMatchObject({ code: 3, out: "" });
  const refused = await requests("find", "--since", "soon", "--state", "lost");
  expect(refused).toMatchObject({
    code: 1,
    error: expect.stringMatching(/ --state must be one of .* --since must be /),
  });
});

test.each(["support", "read"])("the role %s sees whether an event sink gets events, over all requests", async role => {
  const token = await tokenOf(auth, auth.connectorUrl, role);
  const sinkOf = async (id: string) => {
    const { out } = await run("requests", ["events", id], { API_TOKEN: token });
    return out.split("\n\n")[1];
  };
  auth.peers.sink.fail({ kind: "refuse", status: 503, times: 1000 });
  const id = await activeRequest([`${role}@example.com`]);
  const failed = /^SINK .*\n1 +active +- +[1-9]\d* +\S+Z +.*503.*\n$/;
  expect(await sinkOf(id)).toMatch(failed);
  auth.peers.sink.clearFaults();
  await activeRequest([`${role}@example.com`]);
  expect(await sinkOf(id)).toMatch(/\n1 +active +- +0 +\S+Z +.*503.*\n$/);
});

test("a PIN that was resent too often is refused with the time after which it can be resent", async () => {
  const id = await activeRequest(["often@example.com"]);
  for (let sent = 1; sent <= 5; sent++) await callConnector("POST", `/v2/credential-requests/${id}/resend-pin`);
  const refused = await requests("resend-pin", id);
  expect(refused).toMatchObject({ code: 1, error: expect.stringMatching(/ \(429\) Try again in \d+ minutes\.$/m) });
});

describe("the commands for security keys", () => {
  test("revoke one credential, the rest of a key, and a whole request", async () => {
    const id = await activeRequest(["mary@example.com", "hedy@example.com"], ["rosalind@example.com"]);
    const shown = await requests("show", id);
    const key = /^(\S+) .* 1 +mary@example\.com /m.exec(shown.out)?.[1] ?? "";
    const stateOf = (out: string, user: string) => new RegExp(`${user}@example\\.com +entra +(\\S+)`).exec(out)?.[1];
    const states = (out: string) => ["mary", "hedy", "rosalind"].map(user => stateOf(out, user));
    expect(states(shown.out)).toEqual(["active", "active", "active"]);
    expect(states((await requests("revoke", id, key, "2")).out)).toEqual(["active", "revoked", "active"]);
    expect(states((await requests("revoke", id, key)).out)).toEqual(["revoked", "revoked", "active"]);
    auth.peers.entra.fail({ kind: "refuse", method: "DELETE", times: 3, status: 503 });
    const continued = await requests("revoke", id);
    expect(continued).toMatchObject({ code: 0, error: "A job continues with those that are revoking.\n" });
    expect(stateOf(continued.out, "rosalind")).toBe("revoking");
    expect(await requests("revoke", id, "--not-registered")).toMatchObject({ code: 2, out: "" });
    const other = /^(\S+) .* 1 +rosalind@example\.com /m.exec(shown.out)?.[1] ?? "";
    const settled = await requests("revoke", id, other, "1", "--not-registered");
    expect(stateOf(settled.out, "rosalind")).toBe("revoked");
    expect(await requests("revoke", id, "no-key")).toMatchObject({ code: 3, out: "" });
    expect(await requests("revoke", id, key, "1", "2")).toMatchObject({ code: 2, out: "" });
    const [listed] = JSON.parse((await requests("revoke", id, key, "--json")).out).shipment.shipment_items;
    expect(listed.credentials[0]).toMatchObject({ state: "revoked", revocation: { reason: "requested" } });
  });

  test("find a credential that may be registered in the register, and end the doubt", async () => {
    const id = await requestInDoubt("maria@example.com", "chien@example.com");
    const chien = () => requests("keys", "--user", "chien@example.com");
    const [, key = ""] =
      new RegExp(`^${id} +(\\S+) +2 .* failed, may be registered `, "m").exec((await chien()).out) ?? [];
    expect(await requests("revoke", id, key, "2", "--not-registered")).toMatchObject({ code: 0, error: "" });
    expect((await chien()).out).toMatch(new RegExp(`^${id} .* aic +revoked `, "m"));
  });

  test("show which key replaces which", async () => {
    const old = await activeRequest(["edith@example.com"]);
    const { shipment, ...rest } = sampleRequest;
    const item = { ...shipment.shipment_items[0], credentials: [{ user_id: "edith@example.com" }] };
    const replaces = { credential_request_id: old, key_id: "s-01-001", reason: "lost", revoke: "now" };
    const id = await order({ ...rest, shipment: { ...shipment, shipment_items: [item] }, replaces });
    expect((await requests("show", id)).out).toMatch(new RegExp(`^Replaces +s-01-001 of ${old}, lost$`, "m"));
    expect((await requests("show", old)).out).toMatch(new RegExp(`^s-01-001 replaced by +${id}$`, "m"));
    const listed = await requests("keys", "--user", "edith@example.com", "--state", "revoked");
    expect(listed.out).toMatch(new RegExp(`^${old} .* ${id}$`, "m"));
  });

  test("list the register page by page, as a table, JSON and CSV", async () => {
    const id = await activeRequest(["grete@example.com"], ["emmy@example.com"]);
    const { out } = await requests("keys", "--user", "grete@example.com");
    const [, serial = ""] =
      new RegExp(`^${id} +\\S+ +1 +(\\d+) .* grete@example\\.com +entra +active `, "m").exec(out) ?? [];
    expect(serial).not.toBe("");
    const [only, ...others] = JSON.parse((await requests("keys", "--serial", serial, "--json")).out);
    expect([only.user_id, others]).toEqual(["grete@example.com", []]);
    const csv = await requests("keys", "--csv", "--all", "--top", "1");
    expect(csv).toMatchObject({ code: 0, error: "" });
    const [header, ...rows] = csv.out.trim().split("\r\n");
    expect(header).toMatch(/^credential_request_id,key_id,credential,serial_number,/);
    expect(rows.filter(row => row.startsWith(id))).toHaveLength(2);
    expect(rows).not.toContain(header);
    expect(await requests("keys", "--state", "nonsense")).toMatchObject({ code: 1, out: "" });
  });
});

test("a person who leaves is offboarded, after a look at what would be done", async () => {
  const active = await activeRequest(["ada.leaves@example.com"]);
  const { shipment: _, ...rest } = sampleRequest;
  const open = await order({ ...rest, authenticators: [{ credentials: [{ user_id: "ada.leaves@example.com" }] }] });
  const who = ["offboard", "--user", "Ada.Leaves@example.com"];
  const planned = await requests(...who, "--dry-run");
  expect(planned).toMatchObject({ code: 0, error: "Nothing was changed.\n" });
  expect(planned.out).toMatch(/^REQUEST .* WOULD +PROBLEM$/m);
  expect(planned.out).toMatch(new RegExp(`^${active} .* active +revoke `, "m"));
  expect(planned.out).toMatch(new RegExp(`^${open} .* processing +cancel `, "m"));
  auth.peers.entra.fail({ kind: "refuse", method: "DELETE", times: 3, status: 503 });
  const left = await requests(...who);
  expect(left).toMatchObject({ code: 1, error: expect.stringMatching(/^Something is left/) });
  expect(left.out).toMatch(new RegExp(`^${open} .* cancelled +cancel `, "m"));
  await callConnector("POST", "/v2/operations/process-credential-requests");
  expect(await requests(...who, "--idp", "entra")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/ revoked +- +-$/m),
    error: "Complete: none of these credentials can be used any more.\n",
  });
  expect(JSON.parse((await requests(...who, "--json")).out)).toMatchObject({ is_complete: true });
  // A misspelt name is not reported as a person who has been offboarded.
  const unknown = await requests("offboard", "--user", "nobody@example.com");
  expect(unknown).toMatchObject({ code: 3, out: "", error: expect.stringMatching(/^Nothing was found: .*\n$/) });
  expect(await requests("offboard")).toMatchObject({ code: 2, error: expect.stringContaining("--user or --email") });
});

test("an operator signs in by the Azure CLI, whose token is not asked for twice", async () => {
  const folder = mkdtempSync(join(tmpdir(), "az-"));
  const expires = Math.floor(Date.now() / 1000) + 3600;
  const answer = JSON.stringify({ accessToken: auth.tenantToken, expires_on: expires, tokenType: "Bearer" });
  writeFileSync(join(folder, "az"), `#!/bin/sh\necho "$@" >> ${folder}/calls\ncat <<'E'\n${answer}\nE\n`);
  chmodSync(join(folder, "az"), 0o755);
  const env = { PATH: `${folder}:${process.env.PATH}` };
  const way = ["--sign-in", "azure-cli", "--resource", "api://local"];
  expect(await run("users", ["show", "adele", ...way], env)).toMatchObject({ code: 0, error: "" });
  expect(readFileSync(join(folder, "calls"), "utf8").match(/--resource api:\/\/local/g)).toHaveLength(1);
  expect(await run("users", ["find", "--sign-in", "azure-cli"], env)).toMatchObject({ code: 2 });
  expect(await run("users", ["find", "--sign-in", "magic"], env)).toMatchObject({ code: 2 });
});
