import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { hotpCode } from "../../lib/auth/otpkeys/kinds/codes.ts";
import { startAuthHost } from "../../support/auth/host.ts";
import { startCoreProxy } from "../core-proxy.ts";
import {
  compactLine,
  type FileKey,
  hotpKey,
  logLine,
  passphrasePskc,
  pskcOf,
  sealedPskc,
  spellings,
  totpKey,
  yubicoKey,
} from "./key-files.ts";
import { fileOf, freshPath, readLines, runImport, startImport } from "./run-import.ts";

const auth = await startAuthHost();
const proxy = await startCoreProxy(auth.coreUrl);

const imported = (...args: readonly string[]) => importWith({}, ...args);
const importWith = (environment: Readonly<Record<string, string>>, ...args: readonly string[]) =>
  runImport(["--url", auth.coreUrl, ...args], { API_TOKEN: auth.token, ...environment });
const importThrough = (...args: readonly string[]) =>
  runImport(["--url", `${proxy.url}/core`, ...args], { API_TOKEN: auth.token });
/** As a process, with its input or through the proxy. */
const startWith = (input: string, ...args: readonly string[]) =>
  startImport(["--url", auth.coreUrl, ...args], { env: { API_TOKEN: auth.token }, input });
const startThrough = (...args: readonly string[]) =>
  startImport(["--url", `${proxy.url}/core`, ...args], { env: { API_TOKEN: auth.token } });

const listed = async () => (await auth.core("GET", "/otpkeys")).body as readonly { id: number; prefix: string }[];
const isThere = async ({ prefix }: FileKey) => (await auth.core("GET", `/otpkeys/${prefix}`)).status === 200;
const makeKeys = (count: number, make: () => FileKey = hotpKey) => Array.from({ length: count }, make);
const log = (keys: readonly FileKey[]) => fileOf(keys.map(logLine).join("\n"));

describe("importing what key makers ship", () => {
  it("imports every key of every layout, reports each line that it skips, and prints no secret", async () => {
    const keys = [...makeKeys(60, yubicoKey), ...makeKeys(60), ...makeKeys(60, totpKey)];
    const compact = makeKeys(60, yubicoKey);
    const packed = makeKeys(60);
    const bad = { ...yubicoKey(), secret: Buffer.from("5ec2e7".repeat(5), "hex") };
    const text = [
      "LOGGING START,4/2/2012 9:25 AM",
      ...keys.map(logLine),
      "",
      logLine(bad),
      ...compact.map(compactLine),
    ];
    const [first, second, report] = [fileOf(text.join("\r\n")), fileOf(pskcOf(packed), "keys.xml"), freshPath()];

    const { code, out, error } = await startWith("", "--report", report, first, second).ended;

    const refusal = "refused: its secret must have 16 bytes";
    expect(out).toBe(`${first}:183: ${refusal}\n301 keys: 300 imported, 1 refused\n`);
    expect(error).toMatch(/^30 of 300 keys, \d+ a second, about \d+ s left\n/);
    expect(error).toMatch(/\n300 of 300 keys, \d+ a second\n$/);
    expect(code).toBe(1);
    const there = new Set((await listed()).map(({ prefix }) => prefix));
    const all = [...keys, ...compact, ...packed];
    expect(all.filter(({ prefix }) => !there.has(prefix))).toEqual([]);
    expect(there.has(bad.prefix)).toBe(false);

    const [header, ...rows] = readLines(report);
    expect(header).toBe("file,line,prefix,kind,outcome,reason");
    expect(rows).toHaveLength(301);
    expect(rows[0]).toBe(`${first},2,${keys[0]?.prefix},yubico,imported,`);
    expect(rows[180]).toBe(`${first},183,,,refused,its secret must have 16 bytes`);
    expect(rows[300]).toBe(`${second},62,${packed[59]?.prefix},hotp,imported,`);

    const outputs = [out, error, readFileSync(report, "utf8")].join("\n");
    expect(spellings([...all, bad]).filter(secret => outputs.includes(secret))).toEqual([]);
  });

  it("sends 100 keys in one call, so that 230 keys are three", async () => {
    const keys = makeKeys(230);
    proxy.resetRequests();
    expect(await importThrough(log(keys))).toMatchObject({ code: 0, out: "230 keys: 230 imported\n" });
    expect(proxy.count("POST", /otpkeys\/batch/)).toBe(3);
    expect(proxy.count("POST", /otpkeys/)).toBe(3);
  });

  it("imports keys whose OTPs are valid from the counter of the file on, with the drift of a PSKC", async () => {
    const rfc = Buffer.from("12345678901234567890");
    const [typed, shown, drifting] = [{ ...hotpKey(), secret: rfc }, { ...totpKey(), secret: rfc }, totpKey()];
    const drift = "</Secret><TimeDrift><PlainValue>-50</PlainValue></TimeDrift>";
    const csv = [logLine(typed).replace(",6,0,0,", ",6,3,0,"), `${shown.prefix};${rfc.toString("hex")};HOTP;6;3`];
    const files = [
      ...csv.map(line => fileOf(line)),
      fileOf(pskcOf([drifting]).replace("</Secret>", drift), "keys.xml"),
    ];
    await auth.core("POST", "/users", { username: "holder", password: "correct horse battery" });
    expect(await imported(...files)).toMatchObject({ code: 0 });
    for (const { prefix } of [typed, shown, drifting])
      await auth.core("POST", "/users/holder/otpkeys", { otpkey: prefix });
    const isValid = async ({ prefix }: FileKey, code: string) => {
      const { body } = await auth.core("POST", "/users/holder/validate", { otp: prefix + code });
      return (body as { valid_otp: boolean }).valid_otp;
    };
    // RFC 4226 appendix D, counters 2 and 3.
    for (const key of [typed, shown])
      expect([await isValid(key, "359152"), await isValid(key, "969429")]).toEqual([false, true]);
    // The files still say 3.
    await imported("--replace", ...files);
    expect(await isValid(typed, "969429")).toBe(false);
    const codeAt = (step: number) => hotpCode(drifting.secret, step, 6);
    const step = Math.floor(Date.now() / 30_000);
    expect([await isValid(drifting, codeAt(step)), await isValid(drifting, codeAt(step - 50))]).toEqual([false, true]);
  });

  it("assigns each key to the user of its line, and refuses a line whose user is unknown", async () => {
    const [first, second] = [totpKey(), totpKey()];
    await auth.core("POST", "/users", { username: "anna", password: "correct horse battery" });
    const file = fileOf(`anna,${logLine(first)}\nnobody-here,${logLine(second)}`);
    const { code, out } = await imported("--username-column", "1", file);
    expect(out).toContain(`${file}:2: refused: Core responded: username is not the name of a user (400)\n`);
    expect(code).toBe(1);
    expect((await auth.core("GET", "/users/anna/otpkeys")).body).toEqual([first.prefix]);
    expect([await isThere(first), await isThere(second)]).toEqual([true, false]);
    expect((await auth.core("GET", "/users/nobody-here")).status).toBe(404);
  });

  it("refuses a line whose username no user can have, also one that a call cannot carry, and imports the others", async () => {
    const keys = makeKeys(3);
    const usernames = ["", "x".repeat(400_000), "12345"];
    const file = fileOf(keys.map((key, index) => `${usernames[index]},${logLine(key)}`).join("\n"));
    const { code, out } = await imported("--username-column", "1", file);
    expect(out).toBe(
      [
        `${file}:2: refused: its username must have at most 128 characters`,
        `${file}:3: refused: its username must have a character that is not a digit: digits alone are an id`,
        "3 keys: 1 imported, 2 refused\n",
      ].join("\n"),
    );
    expect(code).toBe(1);
  });

  it("counts the last of several lines with one prefix, also over files", async () => {
    const [key, once] = [hotpKey(), hotpKey()];
    const [newer, newest] = [hotpKey(), hotpKey()].map(({ secret }) => ({ ...key, secret }));
    if (newer === undefined || newest === undefined) throw new Error();
    const [first, second] = [log([key, newer, once]), log([newest])];
    const { code, out } = await imported(first, second);
    expect(out.split("\n")).toEqual([
      `${first}:1: refused: ${second}:1 has the same prefix, and the last one counts`,
      `${first}:2: refused: ${second}:1 has the same prefix, and the last one counts`,
      "4 keys: 2 imported, 2 refused",
      "",
    ]);
    expect(code).toBe(1);
    expect((await imported(log([newest]))).out).toBe("1 key: 1 already present\n");
  });

  it("refuses another secret without --replace, and reports the replaced ones", async () => {
    const [key, same, fresh] = [hotpKey(), hotpKey(), hotpKey()];
    await imported(log([key, same]));
    const next = [{ ...key, secret: hotpKey().secret }, same, fresh];
    const file = log(next);
    const refusal = `${file}:1: refused: Core has another secret for its prefix: see --replace`;
    expect(await imported(file)).toMatchObject({
      code: 1,
      out: `${refusal}\n3 keys: 1 imported, 1 already present, 1 refused\n`,
    });
    expect(await imported("--replace", file)).toMatchObject({
      code: 0,
      out: "3 keys: 2 already present, 1 replaced\n",
    });
    expect(await imported(file)).toMatchObject({ code: 0, out: "3 keys: 3 already present\n" });
  });

  it("sends nothing in a dry run, and needs no token for it", async () => {
    const key = hotpKey();
    const file = log([key]);
    const { code, out } = await runImport(["--dry-run", file]);
    expect([code, out]).toEqual([0, "1 key: 1 to be sent\n"]);
    expect(await isThere(key)).toBe(false);
    // Paths are meant from where npm was called.
    const byNpm = { npm_lifecycle_event: "import-otpkeys", INIT_CWD: dirname(file) };
    const { code: again } = await startImport(["--dry-run", basename(file)], { env: byNpm }).ended;
    expect(again).toBe(0);
  });

  it("reads keys from standard input, so that they need not be on a disk", async () => {
    const key = totpKey();
    const report = freshPath();
    const run = await startWith(logLine(key), "--report", report, "-").ended;
    expect(run).toMatchObject({ code: 0, out: "1 key: 1 imported\n" });
    expect(readLines(report)[1]).toBe(`standard input,1,${key.prefix},totp,imported,`);
  });

  it.each([
    [
      "pre-shared key",
      "key",
      "PSKC_KEY",
      sealedPskc,
      "12345678901234567890123456789012",
      "its secret is encrypted, and no pre-shared key was given",
    ],
    [
      "passphrase",
      "passphrase",
      "PSKC_PASSPHRASE",
      passphrasePskc(),
      "qwerty",
      "its secret is encrypted under a passphrase, and none was given",
    ],
  ])(
    "opens a PSKC by the %s of the environment or a file (RFC 6030 figures 6 and 7)",
    async (_, option, variable, text, secret, refusal) => {
      const pskc = fileOf(text, "sealed.xml");
      const fromFile = (content: string) => imported(`--pskc-${option}-file`, fileOf(content, "secret"), pskc);
      expect(await imported(pskc)).toMatchObject({ code: 1, out: expect.stringContaining(`refused: ${refusal}`) });
      expect(await importWith({ [variable]: secret }, pskc)).toMatchObject({ code: 0, out: "1 key: 1 imported\n" });
      const again = await fromFile(`${secret}\r\n`);
      expect(again).toMatchObject({ code: 0, out: "1 key: 1 already present\n" });
      expect(again.error).not.toContain(secret);
      expect(await fromFile("\n")).toMatchObject({ code: 2, error: expect.stringContaining("contains no ") });
    },
  );

  it("refuses a file that contains no OTP key, also beside a good one", async () => {
    const good = log([hotpKey()]);
    const draft = fileOf('<KeyContainer xmlns="urn:ietf:params:xml:ns:keyprov:pskc"><Device/></KeyContainer>', "a.xml");
    const others = [fileOf(pskcOf([]), "b.xml"), fileOf("# nothing\n"), fileOf("")];
    expect(await imported(good, draft, ...others)).toMatchObject({
      code: 1,
      out: [
        `${draft}:1: refused: it is of a draft before RFC 6030: ask its maker for a file of the RFC`,
        ...others.map(file => `${file}:1: refused: the file contains no OTP key`),
        "5 keys: 1 imported, 4 refused\n",
      ].join("\n"),
    });
    expect((await imported(draft)).code).toBe(1);
  });

  it("reads UTF-16, as spreadsheets write it", async () => {
    const key = totpKey();
    const text = Buffer.from(`\ufeff${logLine(key)}\r\n`, "utf16le");
    expect(await imported(fileOf(text), fileOf(Buffer.from(text).swap16()))).toMatchObject({
      code: 1,
      out: expect.stringContaining("2 keys: 1 imported, 1 refused"),
    });
    expect(await isThere(key)).toBe(true);
  });
});

describe("importing again", () => {
  it("continues after Ctrl-C, which lets calls in flight end and prints the progress", async () => {
    const keys = makeKeys(40);
    const report = freshPath();
    proxy.resetRequests();
    proxy.fail({ kind: "hang", method: "POST", times: 40 });
    const { child, ended } = startThrough("--batch", "1", "--parallel", "4", "--report", report, log(keys));
    await proxy.untilHanging(4);
    child.kill("SIGINT");
    // Of one Ctrl-C: the terminal's and npm's.
    child.kill("SIGINT");
    const stopping = new Promise<void>(resolve => {
      child.stderr?.on("data", (text: string) => text.includes("Stopping") && resolve());
    });
    await stopping;
    proxy.release();
    const { code, out, error } = await ended;
    proxy.clearFaults();
    expect(proxy.count("POST", /otpkeys/)).toBe(4);
    expect(code).toBe(130);
    expect(out).toBe("40 keys: 4 imported, 36 open\n");
    expect(error).toContain("36 are open: run the same command again to continue.");
    expect(readLines(report).filter(line => line.endsWith(",open,not sent"))).toHaveLength(36);
    expect((await Promise.all(keys.map(isThere))).filter(Boolean)).toHaveLength(4);

    const again = await imported("--report", report, log(keys));
    expect(again).toMatchObject({ code: 0, out: "40 keys: 36 imported, 4 already present\n" });
    expect(readLines(report).filter(line => line.includes(",open,"))).toEqual([]);
  });

  it("imports nothing twice after a crash between a call and its response", async () => {
    const keys = makeKeys(30);
    // The work is done, and the response is lost.
    proxy.fail({ kind: "hang", method: "POST", phase: "after", times: 30 });
    const { child, ended } = startThrough("--batch", "1", "--parallel", "4", log(keys));
    await proxy.untilHanging(4);
    child.kill("SIGKILL");
    expect((await ended).code).toBe("SIGKILL");
    proxy.clearFaults();
    expect((await Promise.all(keys.map(isThere))).filter(Boolean)).toHaveLength(4);

    expect(await imported(log(keys))).toMatchObject({ code: 0, out: "30 keys: 26 imported, 4 already present\n" });
    const own = new Set(keys.map(({ prefix }) => prefix));
    const kept = (await listed()).filter(({ prefix }) => own.has(prefix));
    expect(kept).toHaveLength(30);
    expect(new Set(kept.map(({ id }) => id)).size).toBe(30);
  });

  it("undoes no later change: a disabled key stays disabled", async () => {
    const key = hotpKey();
    await imported(log([key]));
    await auth.core("POST", `/otpkeys/${key.prefix}/disable`);
    await imported("--replace", log([key]));
    expect((await auth.core("GET", `/otpkeys/${key.prefix}`)).body).toMatchObject({ enabled: false });
  });
});

describe("a Core that does not answer as it should", () => {
  it("is called again after its Retry-After, and when it breaks off or does not answer in time", async () => {
    const keys = makeKeys(6);
    proxy.fail({ kind: "throttle", method: "POST", retryAfter: 1 });
    proxy.fail({ kind: "drop", method: "POST" });
    proxy.fail({ kind: "refuse", method: "POST", status: 503 });
    proxy.fail({ kind: "hang", method: "POST" });
    const run = await importThrough("--batch", "1", "--parallel", "4", "--timeout", "5", log(keys));
    proxy.clearFaults();
    expect(run).toMatchObject({ code: 0, out: "6 keys: 6 imported\n" });
    expect(run.error).toContain(`${proxy.url}/core requests a wait of 1 s.`);
  });

  it.each([
    ["is no Core API", { status: 200, body: "<html></html>" }, "the service at this address is not a Core API"],
    ["sends elsewhere", { status: 307, headers: { location: "/core/elsewhere" } }, "the address responds with 307"],
    ["has no such path", { status: 404 }, "there is no Core API at this address (404)"],
  ])("gets no secret where it %s", async (_, answer, reason) => {
    proxy.instead(() => answer);
    proxy.resetRequests();
    const run = await importThrough(log(makeKeys(3)));
    proxy.instead(() => undefined);
    expect(run).toMatchObject({
      code: 3,
      out: "3 keys: 3 open\n",
      error: expect.stringContaining(`Stopped: ${reason}`),
    });
    expect(proxy.requests().map(({ method }) => method)).toEqual(["GET"]);
  });

  it("ends the run if a response does not name the key, or refuses the token", async () => {
    for (const [answer, reason] of [
      [{ status: 200, body: { results: [{ index: 0, prefix: "another", status: 201 }] } }, "is not a Core API"],
      [{ status: 401, body: {} }, "the token is refused (401)"],
    ] as const) {
      proxy.instead(({ method }) => (method === "POST" ? answer : undefined));
      const run = await importThrough("--batch", "1", "--parallel", "2", log(makeKeys(9)));
      proxy.instead(() => undefined);
      expect(run).toMatchObject({ code: 3, out: "9 keys: 9 open\n", error: expect.stringContaining(reason) });
    }
  });

  it("prints no secret that a response quotes, and no control characters", async () => {
    const keys = makeKeys(4);
    const quoting = keys[2]?.secret.toString("hex").toUpperCase();
    proxy.instead(({ method, body }) => {
      if (method !== "POST") return undefined;
      const quotes = body.includes(quoting?.toLowerCase() ?? "none");
      return { status: 400, body: { error: quotes ? `no ${quoting} here` : "\u001b[2Jno\r\nmore" } };
    });
    const report = freshPath();
    const file = log(keys);
    const { code, out, error } = await importThrough("--batch", "1", "--parallel", "1", "--report", report, file);
    proxy.instead(() => undefined);
    expect(code).toBe(1);
    expect(out.split("\n").slice(1, 3)).toEqual([
      `${file}:2: refused: Core responded:  [2Jno more (400)`,
      `${file}:3: refused: Core responded: a text that quotes a secret`,
    ]);
    const outputs = out + error + readFileSync(report, "utf8");
    expect(outputs).not.toContain("\u001b");
    expect(spellings(keys).filter(secret => outputs.includes(secret))).toEqual([]);
  });
});

describe("what the command needs to know", () => {
  it("is named by an error if it is missing or wrong, and nothing is sent", async () => {
    const { code, out, error } = await imported("/nowhere/keys.csv");
    expect([code, out, error]).toEqual([2, "", "/nowhere/keys.csv cannot be read (ENOENT).\n"]);
    const { code: unknown, error: message } = await imported("--token", "a-token", "keys.csv");
    expect(unknown).toBe(2);
    expect(message).toContain("Unknown option '--token'");
    expect(message).not.toContain("a-token");
  });

  it("is a token from the environment, a file or standard input; without a valid one nothing is sent", async () => {
    const key = hotpKey();
    const file = log([key]);
    const url = ["--url", auth.coreUrl];
    expect(await runImport([...url, file])).toMatchObject({
      code: 2,
      error: expect.stringMatching("API_TOKEN"),
    });
    for (const [token, expected] of [
      ["core_00000000_wrong", "the token is refused (401)"],
      [auth.otherToken, "the token has no access (403)"],
    ]) {
      const run = await runImport([...url, file], { API_TOKEN: token ?? "" });
      expect(run).toMatchObject({ code: 3, error: expect.stringContaining(`Stopped: ${expected}`) });
      expect(run.out + run.error).not.toContain(token);
    }
    expect(await isThere(key)).toBe(false);
    const tokenFile = fileOf(`${auth.token}\n`, "token");
    expect((await runImport([...url, "--token-file", tokenFile, file])).code).toBe(0);
    const byInput = startImport([...url, "--token-file", "-", file], { input: auth.tenantToken });
    expect(await byInput.ended).toMatchObject({ code: 0, out: "1 key: 1 already present\n" });
  });

  it("gets an error that does not quote a token with invalid characters", async () => {
    const run = await importWith({ API_TOKEN: "secret\nX: y" }, log([hotpKey()]));
    expect(run).toMatchObject({ code: 2, out: "" });
    expect(run.error).not.toContain("secret");
  });

  it("does not write a report over anything but a report", async () => {
    const file = log([hotpKey()]);
    const before = readFileSync(file);
    const { code, error } = await imported("--report", file, file);
    expect([code, error]).toEqual([2, `${file} exists and is not an earlier report.\n`]);
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});
