import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { draftProblems } from "../../../../../lib/auth/otpkeys/kinds/draft-problems.ts";
import { otpKinds } from "../../../../../lib/auth/otpkeys/kinds/kinds.ts";
import { createOtpValidation, readSigned, signatureOf } from "../../../../../lib/auth/otpkeys/kinds/remote.ts";
import { testTools } from "../../../../support/connector/peer-tools.ts";
import { deadAddress } from "../../../../support/dead-address.ts";

const otp = "dteffujehknhfjbrjnlnldnhcujvddbikngjrtgh";
const key = new Uint8Array(randomBytes(20));
const now = "2031-01-01T00:00:00Z0123";

/** What a server that keeps to the protocol answers. */
const answer = (message: Parameters<typeof signatureOf>[0], by = key) =>
  [`h=${signatureOf(message, by)}`, ...Object.entries(message).map(([name, value]) => `${name}=${value}`), ""].join(
    "\r\n",
  );
const statusAnswer = (status: string) => (query: URLSearchParams) =>
  answer({ t: now, otp: query.get("otp") ?? "", nonce: query.get("nonce") ?? "", sl: "100", status });

type Answering = (query: URLSearchParams, request: IncomingMessage, response: ServerResponse) => string | undefined;

interface Server {
  readonly url: string;
  readonly host: string;
  readonly asked: URLSearchParams[];
}

/** A validation server of the test's own. It leaves a request open where `answering` gives nothing. */
async function server(answering: Answering): Promise<Server> {
  const asked: URLSearchParams[] = [];
  const http = createServer((request, response) => {
    const query = new URL(request.url ?? "", "http://server").searchParams;
    asked.push(query);
    const text = answering(query, request, response);
    if (text !== undefined) response.setHeader("content-type", "text/plain").end(text);
  });
  await new Promise<void>(resolve => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  return { url: `http://${host}/wsapi/2.0/verify`, host, asked };
}

const clientOf = (
  servers: readonly { readonly url: string }[],
  options: Partial<Parameters<typeof createOtpValidation>[0]> = {},
) =>
  createOtpValidation({
    urls: servers.map(({ url }) => url),
    clientId: "87",
    key: async () => key,
    ...testTools(),
    timeLimitMs: 5000,
    totalTimeLimitMs: 10_000,
    ...options,
  });

describe("signatures of the validation protocol 2.0: published vectors", () => {
  const published = Buffer.from("mG5be6ZJU1qBGz24yPh/ESM3UdU=", "base64");

  it("of a request", () => {
    const request = {
      id: "1",
      otp: "vvungrrdhvtklknvrtvuvbbkeidikkvgglrvdgrfcdft",
      nonce: "jrFwbaYFhn0HoxZIsd9LQ6w2ceU",
    };
    expect(signatureOf(request, published)).toBe("+ja8S3IjbX593/LAgTBixwPNGX4=");
  });

  it("of a response with its lines in any order", () => {
    const message = {
      status: "OK",
      t: "2019-06-06T05:14:15Z0369",
      nonce: "0123456789abcdef",
      otp: "cccccckdvvulethkhtvkrtbeukiettvfceekurncllcj",
      sl: "25",
    };
    const lines = Object.entries(message).map(([name, value]) => `${name}=${value}`);
    const h = "h=iCV9uFJDtuyELQsxFPnR80Yj2XU=";
    for (const text of [[h, ...lines].join("\r\n"), [...lines.toReversed(), h, "", ""].join("\n")]) {
      expect(readSigned(text, published)).toEqual(message);
    }
  });

  it("of an answer that another implementation made", () => {
    const message = { otp: "ececegecejeeedehfftnecrrfcfibfbklhvetghgrvtjdtvv", nonce: "blablafoo", timestamp: "time" };
    expect(signatureOf(message, Buffer.from("LqeG/IZscF1f7/oGQBqNnGY7MLk=", "base64"))).toBe(
      "0KRJecfPNSrpZ79+xODbJl0HM8I=",
    );
  });
});

describe("an answer of a validation server", () => {
  it("is asked for by a signed request with our id, the OTP and a nonce of its own each time", async () => {
    const one = await server(statusAnswer("OK"));
    const client = clientOf([one]);
    await client(otp);
    await client(otp);
    for (const query of one.asked) {
      const { h, ...rest } = Object.fromEntries(query);
      expect(rest).toEqual({ id: "87", otp, nonce: expect.stringMatching(/^[0-9a-f]{32}$/) });
      expect(h).toBe(signatureOf(rest, key));
    }
    expect(new Set(one.asked.map(query => query.get("nonce"))).size).toBe(2);
  });

  it.each([
    ["OK", "valid"],
    ["BAD_OTP", "invalid"],
    ["DELAYED_OTP", "invalid"],
    ["REPLAYED_OTP", "replayed"],
    ["REPLAYED_REQUEST", "unavailable"],
    ["BAD_SIGNATURE", "unavailable"],
    ["MISSING_PARAMETER", "unavailable"],
    ["NO_SUCH_CLIENT", "unavailable"],
    ["OPERATION_NOT_ALLOWED", "unavailable"],
    ["BACKEND_ERROR", "unavailable"],
    ["NOT_ENOUGH_ANSWERS", "unavailable"],
    ["NO_AUTH", "unavailable"],
  ])("%s: %s", async (status, outcome) => {
    const one = await server(statusAnswer(status));
    expect(await clientOf([one])(otp)).toEqual({ outcome, detail: `${one.host}: ${status}` });
  });

  it("says no without naming the request, as servers do that gave up early, but never yes", async () => {
    const no = await server(() => answer({ t: now, status: "BAD_OTP" }));
    expect(await clientOf([no])(otp)).toMatchObject({ outcome: "invalid" });
    for (const kept of [["otp"], ["nonce"], []]) {
      const yes = await server(query =>
        answer({ t: now, status: "OK", ...Object.fromEntries([...query].filter(([name]) => kept.includes(name))) }),
      );
      expect(await clientOf([yes])(otp)).toMatchObject({ outcome: "unavailable" });
    }
  });

  it.each<[string, Answering]>([
    ["another OTP", query => answer({ status: "OK", otp: `c${otp.slice(1)}`, nonce: query.get("nonce") ?? "" })],
    ["another nonce", query => answer({ status: "OK", otp: query.get("otp") ?? "", nonce: "0".repeat(32) })],
    ["another nonce, and no", () => answer({ status: "BAD_OTP", nonce: "0".repeat(32) })],
    [
      "a signature by another key",
      query =>
        answer(
          { status: "OK", otp: query.get("otp") ?? "", nonce: query.get("nonce") ?? "" },
          new Uint8Array(randomBytes(20)),
        ),
    ],
    ["no signature", query => `status=OK\r\notp=${query.get("otp")}\r\nnonce=${query.get("nonce")}\r\n`],
    ["no signature, and no", () => "status=BAD_OTP\r\n"],
    [
      "the signature of what it said before it was changed",
      query => statusAnswer("BAD_OTP")(query).replace("BAD_OTP", "OK"),
    ],
    ["a line twice", query => `${statusAnswer("OK")(query)}status=OK\r\n`],
    ["nothing", () => ""],
    ["no message", () => "<html>\r\n</html>"],
    ["more than anyone would read", query => `${statusAnswer("OK")(query)}${"\r\n".repeat(10_000)}`],
  ])("with %s says nothing", async (_, answering) => {
    expect(await clientOf([await server(answering)])(otp)).toMatchObject({ outcome: "unavailable" });
  });

  it("with another status than 200 says nothing", async () => {
    const one = await server((query, _, response) => {
      response.writeHead(500).end(statusAnswer("OK")(query));
      return undefined;
    });
    expect(await clientOf([one])(otp)).toEqual({ outcome: "unavailable", detail: `${one.host}: answered 500` });
  });
});

describe("several validation servers", () => {
  const dead = { url: `${deadAddress}/wsapi/2.0/verify` };

  it("are asked in turn until one gives an answer that can be believed, by the same nonce", async () => {
    const broken = await server(statusAnswer("BACKEND_ERROR"));
    const good = await server(statusAnswer("OK"));
    const spare = await server(statusAnswer("OK"));
    const client = clientOf([dead, broken, good, spare]);
    expect(await client(otp)).toEqual({ outcome: "valid", detail: `${good.host}: OK` });
    expect(broken.asked[0]?.get("nonce")).toBe(good.asked[0]?.get("nonce"));
    expect(spare.asked).toEqual([]);
  });

  it.each(["BAD_OTP", "REPLAYED_OTP"])("after %s no other is asked", async status => {
    const first = await server(statusAnswer(status));
    const second = await server(statusAnswer("OK"));
    expect((await clientOf([first, second])(otp)).outcome).not.toBe("valid");
    expect(second.asked).toEqual([]);
  });

  it("are left when they are silent for the time limit of one", async () => {
    const silent = await server(() => undefined);
    const good = await server(statusAnswer("OK"));
    expect(await clientOf([silent, good], { timeLimitMs: 1000 })(otp)).toMatchObject({ outcome: "valid" });
  });

  it("are not asked any more when the time for all is up", async () => {
    const silent = await server(() => undefined);
    const good = await server(statusAnswer("OK"));
    expect(await clientOf([silent, good], { timeLimitMs: 600_000, totalTimeLimitMs: 50 })(otp)).toEqual({
      outcome: "unavailable",
      detail: `${silent.host}: no response; ${good.host}: not called: timed out`,
    });
    expect(good.asked).toEqual([]);
  });

  it("are logged on failure without the OTP, which is part of the address", async () => {
    const broken = await server(statusAnswer("BACKEND_ERROR"));
    const { detail } = await clientOf([dead, broken])(otp);
    expect(detail).toBe(`127.0.0.1:2: not reached; ${broken.host}: BACKEND_ERROR`);
  });

  it("are not asked where our key is away, and that is no answer about the OTP", async () => {
    const good = await server(statusAnswer("OK"));
    const away = async (): Promise<Uint8Array> => {
      throw new Error("no vault");
    };
    await expect(clientOf([good], { key: away })(otp)).rejects.toThrow("no vault");
    expect(good.asked).toEqual([]);
  });
});

it("an OTP cannot be checked where there is no validation server", async () => {
  expect(await clientOf([], { key: () => Promise.reject(new Error("no vault")) })(otp)).toMatchObject({
    outcome: "unavailable",
  });
});

describe("a key of kind remote", () => {
  const remote = otpKinds.remote;

  it("has no secret, private id, digits or counter", () => {
    expect(remote.prepare({})).toEqual({ parameters: { state: { counter: 0 } } });
    const bytes = randomBytes(16);
    const draft = { secret: bytes, privateId: bytes, digits: 6, counter: 1 };
    expect(draftProblems(draft, remote.rules).map(({ field }) => field)).toEqual(Object.keys(draft));
  });
});
