// The certificate library's container looks for this polyfill while it loads.
import "reflect-metadata";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { X509CertificateGenerator } from "@peculiar/x509";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { anyResponse, callPeer, type PeerAccess, type PeerRequest } from "../../../lib/platform/call-peer.ts";
import { errorFields } from "../../../lib/platform/log.ts";
import { plus } from "../../../lib/platform/time.ts";
import { type HttpAnswer, type Peer, startPeer } from "../../../local/peers/peer.ts";
import {
  failingFetch,
  failureOf,
  kindOf,
  oddPeer,
  oddServer,
  systemError,
  testTools,
} from "../../support/connector/peer-tools.ts";
import { deadAddress } from "../../support/dead-address.ts";

const response = z.object({ id: z.string() });

let peer: Peer;
let next: HttpAnswer;

beforeEach(async () => {
  peer = await startPeer("thing", { handle: () => next });
  next = { status: 200, body: { id: "one", more: 1 } };
});

afterEach(() => peer.close());

const tools = testTools();
const access = (changes: Partial<PeerAccess> = {}): PeerAccess => ({
  ...tools,
  peer: "thing",
  timeLimitMs: 20_000,
  ...changes,
});
const request = (changes: Partial<PeerRequest<{ id: string }>> = {}): PeerRequest<{ id: string }> => ({
  operation: "make",
  method: "POST",
  url: `${peer.url}/things`,
  response,
  ...changes,
});
const call = (changes?: Partial<PeerRequest<{ id: string }>>, of?: Partial<PeerAccess>) =>
  callPeer(access(of), request(changes));

describe("a call", () => {
  test("returns the body as the schema parses it", async () => {
    expect(await call()).toEqual({ id: "one" });
  });

  test("accepts any 2xx if no body is needed, but not a proxy's page", async () => {
    const remove = () => callPeer(access(), { ...request({ method: "DELETE" }), response: anyResponse });
    for (const body of [undefined, { id: "one" }, "[]", "null"]) {
      next = { status: 200, body };
      await remove();
    }
    peer.fail({ kind: "nonsense" });
    expect(await failureOf(remove())).toMatchObject({ kind: "unanswered", status: 200 });
    peer.fail({ kind: "cut" });
    expect(await kindOf(remove())).toBe("unanswered");
  });

  test("sends the token in a header, an object as JSON and a form as a form", async () => {
    const { url, calls } = await oddPeer(() => next);
    await call({ url, token: "t", body: { a: "ä" } });
    await call({ url, body: new URLSearchParams({ a: "1 2" }) });
    await call({ url, method: "GET" });
    const seen = calls.map(({ method, headers, body }) => [
      method,
      headers.authorization,
      headers.accept,
      headers["content-type"],
      String(body),
    ]);
    expect(seen).toEqual([
      ["POST", "Bearer t", "application/json", "application/json", '{"a":"ä"}'],
      ["POST", undefined, "application/json", "application/x-www-form-urlencoded", "a=1+2"],
      ["GET", undefined, "application/json", undefined, ""],
    ]);
  });

  test("adds its own headers to the usual ones, or replaces them", async () => {
    const { url, calls } = await oddPeer(() => next);
    await call({ url, headers: { "x-token": "t", "content-type": "application/vnd.thing+json" }, body: {} });
    await call({ url, headers: { "x-token": "t", "content-type": "application/json" } });
    expect(calls.map(({ headers }) => [headers["x-token"], headers["content-type"], headers.accept])).toEqual([
      ["t", "application/vnd.thing+json", "application/json"],
      ["t", "application/json", "application/json"],
    ]);
    const failure = await failureOf(call({ url, headers: { "x-token": "s3cret\nx" } }));
    expect(failure.kind).toBe("unreachable");
    expect(JSON.stringify(errorFields(failure))).not.toContain("s3cret");
    expect(calls).toHaveLength(2);
  });
});

describe("a response that is not a success", () => {
  test.each(["request-id", "x-ms-request-id", "Correlation-Id", "X-ForgeRock-TransactionId", "x-request-id"])(
    "keeps for the peer's support the id that it has in %s, in the log too",
    async name => {
      next = { status: 400, headers: { [name]: "0bbd6c7e-8f3a/0" } };
      const failure = await failureOf(call());
      expect(failure.peerRequestId).toBe("0bbd6c7e-8f3a/0");
      expect(errorFields(failure)).toMatchObject({ peerRequestId: "0bbd6c7e-8f3a/0" });
      next = { status: 200, headers: { [name]: "unreadable" }, body: {} };
      expect((await failureOf(call())).peerRequestId).toBe("unreadable");
    },
  );

  test("reports no request id if no header has a valid one", async () => {
    for (const id of ["", "a b", '"quoted"', "x".repeat(129)]) {
      next = { status: 400, headers: { "request-id": id } };
      const failure = await failureOf(call());
      expect(failure.peerRequestId).toBeUndefined();
      expect(errorFields(failure)).not.toHaveProperty("peerRequestId");
    }
  });

  test.each([
    [400, "refused"],
    [401, "unauthorized"],
    [403, "unauthorized"],
    [404, "unreachable"],
    [405, "refused"],
    [408, "unanswered"],
    [409, "refused"],
    [422, "refused"],
    [429, "throttled"],
    [500, "unanswered"],
    [502, "unanswered"],
    [503, "unanswered"],
    [304, "unanswered"],
  ])("%d is %s", async (status, kind) => {
    next = { status };
    expect(await failureOf(call())).toMatchObject({ status, kind, peer: "thing" });
  });

  test("is missing for a 404 only with the peer's own error code: any other may be a proxy's", async () => {
    const errorOf = (body: unknown) => body as { code: unknown };
    for (const [code, kind] of [
      ["unknown", "missing"],
      [" ", "unreachable"],
      [7, "unreachable"],
    ]) {
      next = { status: 404, body: { code } };
      expect(await kindOf(call({}, { errorOf }))).toBe(kind);
    }
  });

  test.each([
    ["7", 7],
    ["2.128", 3],
    ["0, 120", 120],
  ])("is throttled for 503 with Retry-After %s", async (header, retryAfterSeconds) => {
    next = { status: 503, headers: { "retry-after": header } };
    expect(await failureOf(call())).toMatchObject({ kind: "throttled", retryAfterSeconds });
  });

  test.each([
    ["seconds", () => "120", 120],
    ["IMF-fixdate", inNinetySeconds, 90],
    ["asctime", () => asctime(plus(tools.now(), 90_000)), 90],
    ["a date that is past", () => "Sun, 06 Nov 1994 08:49:37 GMT", 0],
    ["more than a day is a slip", () => "999999999999999999999", 86_400],
    ["a date far away too", () => "Sun, 06 Nov 2594 08:49:37 GMT", 86_400],
    ["words", () => "soon", undefined],
    ["a negative number", () => "-5", undefined],
    ["a fraction, rounded up", () => "2.128", 3],
    ["a fraction below one", () => "0.249", 1],
    ["a long fraction", () => `120.${"5".repeat(1000)}`, 121],
    ["two values joined", () => "0, 120", 120],
    ["two values joined without a space", () => "120,0", 120],
    ["the same value twice", () => "120, 120", 120],
    ["a value joined with words", () => "soon, 7", 7],
    ["a value joined with a negative one", () => "-5, 7", 7],
    ["two dates joined", () => `Sun, 06 Nov 1994 08:49:37 GMT, ${inNinetySeconds()}`, 90],
    ["a date joined with seconds", () => `${inNinetySeconds()}, 7`, 90],
    ["joined values of which one is a slip", () => "1, 999999999999999999999", 86_400],
    ["commas only", () => ", ,", undefined],
    ["a number with an exponent", () => "1e3", undefined],
    ["a number with two points", () => "1.2.3", undefined],
  ])(
    "has a Retry-After in every form of RFC 9110, with a fraction, and joined by a proxy: %s",
    async (_, header, seconds) => {
      next = { status: 429, headers: { "retry-after": header() } };
      const { kind, retryAfterSeconds } = await failureOf(call());
      expect(kind).toBe("throttled");
      if (seconds === undefined) expect(retryAfterSeconds).toBeUndefined();
      else if (seconds === 90) expect(Math.abs((retryAfterSeconds ?? -9) - seconds)).toBeLessThanOrEqual(1);
      else expect(retryAfterSeconds).toBe(seconds);
    },
  );

  test("has an asctime date in UTC in every time zone", async () => {
    vi.stubEnv("TZ", "Asia/Tokyo");
    onTestFinished(() => void vi.unstubAllEnvs());
    next = { status: 429, headers: { "retry-after": asctime(plus(tools.now(), 90_000)) } };
    expect((await failureOf(call())).retryAfterSeconds).toBeGreaterThan(80);
  });

  test("does not follow a redirect, which would send the token to another host", async () => {
    next = { status: 307, headers: { location: `${peer.url}/elsewhere` } };
    const detail = `${peer.url} redirects to ${peer.url}, which is not followed: correct the address in the settings.`;
    expect(await failureOf(call({ token: "t" }))).toMatchObject({ kind: "unanswered", status: 307, detail });
    expect(peer.count("POST", /elsewhere/)).toBe(0);
  });

  test("is unanswered for a 2xx that does not fit the schema, and the failure names the member", async () => {
    next = { status: 201, body: { id: 7 } };
    const failure = await failureOf(call());
    expect(failure).toMatchObject({ kind: "unanswered", status: 201, detail: "The response cannot be read: id" });
    next = { status: 200, body: "<html>" };
    expect(await kindOf(call())).toBe("unanswered");
    next = { status: 200 };
    expect(await kindOf(call())).toBe("unanswered");
  });

  test("is not read to its end if it is too long", async () => {
    const closed = Promise.withResolvers<void>();
    const url = await oddServer((_, response) => {
      response.on("close", () => closed.resolve());
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)));
      };
      response.on("drain", more);
      more();
    });
    expect(await kindOf(call({ url }, { maxResponseBytes: 1_000_000 }))).toBe("unanswered");
    await closed.promise;
  });

  test("is a refusal also if its body does not arrive", async () => {
    const url = await oddServer((_, response) => {
      response.writeHead(409, { "content-length": "100" });
      response.write("{");
      setImmediate(() => response.destroy());
    });
    expect(await failureOf(call({ url }))).toMatchObject({ kind: "refused", status: 409 });
  });

  test("has the peer's message on one line, cut, without control characters", async () => {
    const errorOf = (body: unknown) => body as { code: unknown; detail: unknown };
    next = { status: 400, body: { code: "bad\r\ncode", detail: `a\u0000b\u2028c${"x".repeat(600)}` } };
    const failure = await failureOf(call({}, { errorOf }));
    expect(failure.code).toBe("bad code");
    expect(failure.detail).toMatch(/^a b cx+$/);
    expect(failure.detail).toHaveLength(500);
    next = { status: 400, body: { code: 7, detail: " " } };
    expect(await failureOf(call({}, { errorOf }))).toMatchObject({ code: undefined, detail: undefined });
  });
});

describe("a call without a response", () => {
  test("is unreachable if no process listens", async () => {
    expect(await failureOf(call({ url: deadAddress }))).toMatchObject({
      kind: "unreachable",
      status: undefined,
    });
    const { port } = new URL(deadAddress);
    expect(await kindOf(call({ url: `http://localhost:${port}/` }))).toBe("unreachable");
  });

  test("is unreachable if the certificate is not trusted, and nothing is sent", async () => {
    const asked: unknown[] = [];
    const url = await untrustedServer(() => asked.push(1));
    expect(await failureOf(call({ url, token: "t" }))).toMatchObject({ kind: "unreachable" });
    expect(asked).toEqual([]);
  });

  test.each([
    ["ECONNREFUSED", "connect"],
    ["EHOSTUNREACH", "connect"],
    ["ENETUNREACH", "connect"],
    ["ETIMEDOUT", "connect"],
    ["ENOTFOUND", "getaddrinfo"],
    ["EAI_AGAIN", "getaddrinfo"],
    ["UND_ERR_CONNECT_TIMEOUT", undefined],
    ["CERT_HAS_EXPIRED", undefined],
    ["ERR_TLS_CERT_ALTNAME_INVALID", undefined],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", undefined],
  ])("is unreachable after %s", async (code, syscall) => {
    expect(await kindOf(call({}, { fetch: failingFetch(systemError(code, syscall)) }))).toBe("unreachable");
  });

  test("is unreachable only if every address of the peer was unreachable", async () => {
    const refused = systemError("ECONNREFUSED", "connect");
    const several = (...errors: Error[]) => failingFetch(new AggregateError(errors));
    expect(await kindOf(call({}, { fetch: several(refused, refused) }))).toBe("unreachable");
    expect(await kindOf(call({}, { fetch: several(refused, systemError("ECONNRESET", "read")) }))).toBe("unanswered");
    expect(await kindOf(call({}, { fetch: several() }))).toBe("unanswered");
  });

  test.each([
    ["ECONNRESET", "read"],
    ["EPIPE", "write"],
    ["UND_ERR_SOCKET", undefined],
    ["UND_ERR_HEADERS_TIMEOUT", undefined],
    ["EHOSTUNREACH", "read"],
    ["ETIMEDOUT", "read"],
  ])("is unanswered after %s on an existing connection (%s)", async (code, syscall) => {
    expect(await kindOf(call({}, { fetch: failingFetch(systemError(code, syscall)) }))).toBe("unanswered");
  });

  test("is unanswered when the peer drops the connection after its work", async () => {
    peer.fail({ kind: "drop", phase: "after" });
    expect(await failureOf(call())).toMatchObject({ kind: "unanswered", status: undefined });
    expect(peer.count("POST", /things/)).toBe(1);
  });

  test("is unanswered at the end of its time limit, which includes the body", async () => {
    peer.fail({ kind: "hang" });
    expect(await kindOf(call({}, { timeLimitMs: 50 }))).toBe("unanswered");
    const url = await oddServer((_, response) => {
      response.writeHead(200);
      response.write("{");
    });
    expect(await kindOf(call({ url }, { timeLimitMs: 50 }))).toBe("unanswered");
  });

  test("is unanswered if its caller aborts it while it runs, and unreachable if it was aborted before", async () => {
    peer.fail({ kind: "hang" });
    const ending = new AbortController();
    const ended = call({ signal: ending.signal });
    await peer.untilHanging();
    ending.abort(new Error("enough"));
    expect(await kindOf(ended)).toBe("unanswered");
    expect(await kindOf(call({ signal: ending.signal }))).toBe("unreachable");
    expect(peer.count("POST", /things/)).toBe(1);
  });
});

describe("a failure of a call", () => {
  test("never contains the token, the body or the query", async () => {
    peer.fail({ kind: "drop", times: 9 });
    const failures = [
      await failureOf(call({ token: "s3cret\nvalue" })),
      await failureOf(call({ url: "http://u:s3cret@127.0.0.1:1/" })),
      await failureOf(call({ token: "s3cret", body: { pin: "s3cret" }, url: `${peer.url}/things?t=s3cret` })),
      await failureOf(call({ url: "s3cret://" })),
    ];
    for (const failure of failures) {
      expect(JSON.stringify(errorFields(failure))).not.toContain("s3cret");
      expect(JSON.stringify(failure)).not.toContain("s3cret");
    }
  });

  test("is unreachable if the request cannot be formed", async () => {
    expect(await kindOf(call({ token: "line\nbreak" }))).toBe("unreachable");
    expect(await kindOf(call({ url: "no address" }))).toBe("unreachable");
  });

  test("has the error of the system or the time limit as its cause, which the log names", async () => {
    const reset = systemError("ECONNRESET", "read");
    const lost = await failureOf(call({}, { fetch: failingFetch(reset) }));
    expect(errorFields(lost)).toMatchObject({
      name: "PeerFailure",
      cause: { message: reset.message, code: "ECONNRESET" },
    });
    peer.fail({ kind: "hang" });
    const late = await failureOf(call({}, { timeLimitMs: 20 }));
    expect(errorFields(late)).toMatchObject({ name: "PeerFailure", cause: { name: "TimeoutError" } });
  });

  test("names the peer, the operation and the result", async () => {
    next = { status: 409 };
    expect((await failureOf(call())).message).toBe("thing: make refused (409)");
  });
});

const inNinetySeconds = () => new Date(plus(tools.now(), 90_000)).toUTCString();
const asctime = (time: string) => {
  const [day, date, month, year, clock] = new Date(time).toUTCString().replace(",", "").split(" ");
  return `${day} ${month} ${date} ${clock} ${year}`;
};

async function untrustedServer(asked: () => void): Promise<string> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: "CN=127.0.0.1",
    keys,
    signingAlgorithm: algorithm,
  });
  const key = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const pem = `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----\n`;
  const server = createServer({ key: pem, cert: certificate.toString("pem") }, asked);
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
