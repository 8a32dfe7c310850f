import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { emptyDirectory, endAll, listens } from "../start/start-process.ts";

afterAll(endAll);

/** Runs the demo, with a directory of its own for temporary files. */
function play() {
  const directory = emptyDirectory();
  const child = spawn(process.execPath, [join(import.meta.dirname, "../../../local/demo/demo.ts")], {
    // Invalid settings, which the demo must not pass to its system.
    env: { ...process.env, TMPDIR: directory, PORT: "none", POLL_AFTER_SECONDS: "soon" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const ended = once(child, "close").then(([code]) => code as number);
  const up = async (): Promise<{ host: URL; pid: number; files: readonly string[] }> => {
    const over = ended.then(() => Promise.reject(new Error(output)));
    while (!output.includes("The host is up at ")) await Promise.race([once(child.stdout, "data"), over]);
    over.catch(() => {});
    const [home = ""] = readdirSync(directory);
    const files = readdirSync(join(directory, home)).toSorted();
    const { host, pid } = JSON.parse(readFileSync(join(directory, home, "run.json"), "utf8"));
    return { host: new URL(host), pid, files };
  };
  return { child, ended, up, output: () => output, left: () => readdirSync(directory) };
}

describe("the demo", () => {
  test("plays a shipped key, a lost one, an on-site key and a sign-in, shows their states, and removes its system at the end", async () => {
    const demo = play();
    expect(await demo.ended, demo.output()).toBe(0);
    const expected = [
      /POST \/v2\/credential-requests +201/,
      /connector → identity provider: GET \S+creationOptions\S* 200/,
      /connector → delivery service: POST \/v1\/fpr\/shipments 201/,
      /request started +key processing +credential processing/,
      /shipment received[\s\S]+shipment programmed and shipped/,
      /GET \/v2\/operations\/process-shipments +204/,
      /request started +key processing +credential activation_pending/,
      /POST \/v2\/operations\/process-credential-requests +200/,
      /connector → identity provider: POST \S+fido2Methods 201/,
      /connector → mail service: POST \/emails:send 202/,
      /request complete +key complete +credential active/,
      /The PIN is:[\s\S]+ \d{6} /,
      /The carrier loses it[\s\S]+?delivery lost\s+the ordering system got fido-connector\.key\.delivery_failed of key 3\d{7}: lost/,
      /A new key replaces it[\s\S]+?connector → identity provider: DELETE \S+ 204[\s\S]+?lost key revoked/,
      /The new key comes[\s\S]+?request complete +key complete +credential active\s+registered at the identity provider/,
      /POST \/v2\/credential-requests +201\s+connector → enrollment service: POST \/v1\/token 200/,
      /connector → pre-registration API: PUT \S+ 201/,
      /is the key 4\d{7} now; the app shows its PIN: \d{6}\s/,
      /connector → pre-registration API: GET \S+ 200/,
      /request complete +key complete +credential active\s+registered at PingOne/,
      /POST \/core\/users +201\s+POST \/core\/otpkeys +201\s+POST \/core\/users\/\d+\/otpkeys +204/,
      /POST \/client\/login +200\s+GET \/client\/status +200\s+the session belongs to ada@example\.com/,
      /The OTP is replayed[\s\S]+?POST \/client\/login +401/,
      /The key is lost[\s\S]+?POST \/core\/otpkeys\/ubhe00001815\/disable +204\s+GET \/client\/status +401/,
      /the next OTP of the key is refused:\s+POST \/client\/login +401/,
    ];
    const places = expected.map(words => demo.output().search(words));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(demo.left()).toEqual([]);
  });

  test("keeps its data in memory, stops on Ctrl-C and removes its system", async () => {
    const demo = play();
    const { host, pid, files } = await demo.up();
    expect(files).toEqual([`identity-providers.${pid}.yaml`, "run.json", "system.log"]);
    demo.child.kill("SIGINT");
    expect(await demo.ended).toBe(130);
    expect(demo.left()).toEqual([]);
    expect(await listens({ host: "127.0.0.1", port: Number(host.port) })).toBe(false);
  });

  test("names the reason if the story cannot continue", async () => {
    const demo = play();
    process.kill((await demo.up()).pid, "SIGKILL");
    expect(await demo.ended).toBe(1);
    expect(demo.output()).toMatch(/The demo failed: .+/);
    expect(demo.left()).toEqual([]);
  });
});
