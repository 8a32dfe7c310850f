import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type LaunchedSystem, launchSystem } from "../../local/demo/system.ts";
import { startBrowser, type TestBrowser } from "../local/console/browser.ts";
import { programOf } from "./program-of.ts";

// A guide waits for keys that ship after two seconds, on a machine that may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

/** Serves the page of the guide, from another origin than the host's. */
const pages = createServer((_, response) => {
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end(readFileSync("docs/examples/auth-browser.html"));
});
const directory = mkdtempSync(join(tmpdir(), "guides-"));
let system: LaunchedSystem;
let browser: TestBrowser;
let facts: Awaited<LaunchedSystem["ready"]>;
let pageOrigin: string;

beforeAll(async () => {
  await once(pages.listen(0, "127.0.0.1"), "listening");
  pageOrigin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  system = launchSystem({ CLIENT_ALLOWED_ORIGINS: pageOrigin });
  const failed = system.ended.then(() => Promise.reject(new Error(system.log())));
  failed.catch(() => {});
  [facts, browser] = await Promise.all([Promise.race([system.ready, failed]), startBrowser()]);
  mkdirSync(join(directory, ".local"));
  symlinkSync(resolve("docs"), join(directory, "docs"));
  writeFileSync(join(directory, ".local/run.json"), JSON.stringify(facts));
});
afterAll(async () => {
  pages.close();
  await Promise.all([browser?.close(), system?.close()]);
  rmSync(directory, { recursive: true, force: true });
});

/** Runs a program in a directory that looks like the one in which the reader has started the system. */
async function run(command: string, file: string, program: string): Promise<string> {
  writeFileSync(join(directory, file), program);
  const env = { ...process.env, PATH: `${join(process.execPath, "..")}:${process.env.PATH ?? ""}` };
  const child = spawn(command, [file], { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"] });
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  expect(code, error).toBe(0);
  return out;
}

const has = (command: string): boolean => spawnSync(command, ["--version"]).status === 0;
const withPython = has("python3");
if (!withPython) console.warn("Skipped the Python program of docs/integrate.md, because there is no python3.");

describe("docs/integrate.md", () => {
  it("orders keys for three people, follows them, and reads lists and errors, with curl", async () => {
    expect(await run("bash", "guide.sh", `set -eu\n${programOf("docs/integrate.md", "bash")}`)).toBe(
      [
        "ordered for ada, grace and alan",
        "processing",
        "attestation_enforced",
        "user_guest: shipment.shipment_items[0].credentials[0].user_id is a guest, who can have passkeys in the home tenant only: order for a member of this tenant (identity provider entra)",
        "user_unknown: shipment.shipment_items[0].credentials[1].user_id is not one user of the environment: correct the user name or id (identity provider pingone)",
        "the same request",
        "409 for another order",
        "ada: complete",
        "entra active, pingone active",
        "1",
        "cancelled",
        "409 for a key that is complete",
        "revoked",
        "entra: none, revoked",
        "pingone: none, revoked",
        "revoked",
        "3 pages",
        "recipient.email must be an email address",
        "enrollment_contacts.emails_to[0] must be an email address",
        "shipment.shipment_items[0].credentials must have at least 1 element",
        "",
      ].join("\n"),
    );
  });

  it.skipIf(!withPython)("does the same in Python", async () => {
    expect(await run("python3", "guide.py", programOf("docs/integrate.md", "python"))).toBe(
      "edsger complete\nbarbara complete\ndonald complete\nseveral pages\n400 recipient.email\n",
    );
  });

  it("calls it with types in TypeScript", async () => {
    symlinkSync(resolve("node_modules"), join(directory, "node_modules"));
    expect(await run(process.execPath, "guide.ts", programOf("docs/integrate.md", "ts"))).toMatch(
      /^(\S+ complete\n){2}404\n$/,
    );
  });
});

describe("docs/sign-in.md", () => {
  it("creates a user with an OTP key and signs the user in from a server", async () => {
    expect(await run("bash", "sign-in.sh", `set -eu\n${programOf("docs/sign-in.md", "bash")}`)).toBe(
      [
        "user: 201",
        "key: 201",
        "assigned: 204",
        "alice with vvccccbcdeft",
        "replay: 401",
        "on this device: 200",
        "changed: 200",
        "judy: 201",
        "set by code: 200",
        "must change: 204",
        "set by token: 200",
        "Pages of other origins may not call this API. To allow one, add its origin to CLIENT_ALLOWED_ORIGINS.",
        "",
      ].join("\n"),
    );
  });

  it("signs the user in and out in a page of an allowed origin", async () => {
    const api = encodeURIComponent(`${facts.host}/client`);
    const { page, troubles } = await browser.open(`${pageOrigin}/auth-browser.html?api=${api}`);
    const signIn = async (password: string, otp: string) => {
      await page.getByLabel("Username").fill("alice");
      await page.getByLabel("Password").fill(password);
      await page.getByLabel("OTP").fill(otp);
      await page.getByRole("button", { name: "Sign in" }).click();
    };
    await signIn("wrong", "");
    await page.getByText("Invalid credentials!").waitFor();
    await signIn("another good password", "vvccccbcdeft338314");
    await page.getByText("alice is signed in with the key vvccccbcdeft.").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Signed out.").waitFor();
    // The browser itself reports the refused login.
    expect(troubles).toEqual([expect.stringContaining("401")]);
  });

  it("shows the form again after the session has ended, and says what to do after a 429 without a body", async () => {
    const core = (path: string, fields: Readonly<Record<string, string>>) =>
      fetch(`${facts.host}/core/users${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${facts.tokens.core}` },
        body: new URLSearchParams(fields),
      });
    await core("", { username: "carol", password: "correct horse battery" });
    const api = encodeURIComponent(`${facts.host}/client`);
    const { page } = await browser.open(`${pageOrigin}/auth-browser.html?api=${api}`);
    const signIn = async () => {
      await page.getByLabel("Username").fill("carol");
      await page.getByLabel("Password").fill("correct horse battery");
      await page.getByRole("button", { name: "Sign in" }).click();
    };
    await signIn();
    await page.getByText("carol is signed in.").waitFor();
    await core("/carol/sessions/delete", {});
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Session required!").waitFor();
    await signIn();
    await page.getByText("carol is signed in.").waitFor();
    await page.route("**/client/logout", route =>
      route.fulfill({ status: 429, headers: { "access-control-allow-origin": pageOrigin } }),
    );
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Try again in a few seconds.").waitFor();
  });
});
