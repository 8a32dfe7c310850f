import { describe, expect, it } from "vitest";
import { apiUrl, connectApi } from "../../../commands/api.ts";
import { importArguments } from "../../../commands/import/arguments.ts";
import { readPreSharedKey, readToken } from "../../../commands/import/inputs.ts";
import { otpkeyImport } from "../../../commands/import/otpkey-import.ts";
import { checkReport } from "../../../commands/import/report.ts";
import { fileOf, freshPath } from "./run-import.ts";

const checkKeyReport = (path: string) => checkReport(path, otpkeyImport.columns);
const url = ["--url", "https://core.example/core"];

describe("what the import command is given", () => {
  it("has defaults", () => {
    expect(importArguments([...url, "a.csv", "b.xml"])).toMatchObject({
      files: ["a.csv", "b.xml"],
      replace: false,
      dryRun: false,
      batch: 100,
      parallel: 4,
      timeoutMs: 30_000,
      log: {},
    });
    expect(importArguments([...url, "--digits", "8", "--identifier", "ubhe", "-"])).toMatchObject({
      log: { digits: 8, identifier: "ubhe" },
    });
    expect(importArguments(["-h"])).toBeUndefined();
  });

  it.each([
    [[...url], /No FILE is given/],
    [["keys.csv"], /--url is missing/],
    [[...url, "--parallel", "33", "keys.csv"], /--parallel must be a whole number from 1 to 32/],
    [[...url, "--batch", "101", "keys.csv"], /--batch must be a whole number from 1 to 100/],
    [[...url, "--parallel", "0", "keys.csv"], /--parallel must be a whole number from 1 to 32/],
    [[...url, "--timeout", "1e1", "keys.csv"], /--timeout must be a whole number from 1 to 600/],
    [[...url, "--digits", "9", "keys.csv"], /--digits must be a whole number from 6 to 8/],
    [[...url, "-", "-"], /Only one input can be standard input/],
    [[...url, "--token-file", "-", "-"], /Only one input can be standard input/],
  ])("is refused where it makes no sense (%#)", (args, expected) => {
    expect(() => importArguments(args)).toThrow(expected);
  });

  it.each([
    ["http://core.example/core", /must start with https/],
    ["http://127.0.0.1.example/core", /must start with https/],
    ["core.example/core", /is not a URL/],
  ])("goes to no address without TLS but this machine's: %s", (address, expected) => {
    expect(() => connectApi(address, "a-token")).toThrow(expected);
    expect(apiUrl("http://127.0.0.1:7071/core/")).toBe("http://127.0.0.1:7071/core");
  });

  it("is no token where there is none", async () => {
    await expect(readToken(undefined, " ")).rejects.toThrow("API_TOKEN is not set");
    await expect(readToken(fileOf("\n", "token"), "one")).rejects.toThrow("token contains no token");
    await expect(readToken(undefined, " a-token\n")).resolves.toBe("a-token");
  });
});

describe("the pre-shared key of a PSKC", () => {
  const key = Uint8Array.from({ length: 16 }, (_, index) => index);
  const hex = Buffer.from(key).toString("hex");
  const base64 = Buffer.from(key).toString("base64");

  it("comes from the environment or a file, in hex or base64; the file wins", async () => {
    for (const text of [hex, hex.toUpperCase(), base64, ` ${hex.replace(/..../g, "$& ")}\n`]) {
      expect(await readPreSharedKey(undefined, text)).toEqual(key);
      expect(await readPreSharedKey(fileOf(text, "key"), "ff".repeat(16))).toEqual(key);
    }
    expect(await readPreSharedKey(undefined, undefined)).toBeUndefined();
    expect(await readPreSharedKey(undefined, "")).toBeUndefined();
  });

  it.each(["00".repeat(15), "no key", "00".repeat(33), `${hex}0`])(
    "is refused without being quoted: %s",
    async text => {
      const refusal = await readPreSharedKey(undefined, text).catch((error: Error) => error.message);
      expect(refusal).toBe("PSKC_KEY contains no key of 16, 24 or 32 bytes in hex or base64.");
      await expect(readPreSharedKey(fileOf("", "empty"), hex)).rejects.toThrow("contains no key");
    },
  );
});

describe("where a report is to be written", () => {
  it("is nothing else, or it is left alone", async () => {
    await checkKeyReport(freshPath());
    await checkKeyReport(fileOf("", "empty"));
    await checkKeyReport(fileOf("file,line,prefix,kind,outcome,reason\r\nkeys.csv,1,a,hotp,imported,\r\n"));
    await expect(checkKeyReport(fileOf("file,line,prefix\r\n"))).rejects.toThrow("is not an earlier report");
    await expect(checkKeyReport("/dev/null")).rejects.toThrow("is not an earlier report");
    await expect(checkKeyReport("/")).rejects.toThrow("is not an earlier report");
    await expect(checkKeyReport("/nowhere/report.csv")).rejects.toThrow("cannot be written to /nowhere");
  });
});
