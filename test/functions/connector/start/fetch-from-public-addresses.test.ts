import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fetchFromPublicAddresses } from "../../../../functions/connector/start/fetch-from-public-addresses.ts";
import { hasSentNothing } from "../../../../lib/platform/connection-error.ts";

const { signal } = new AbortController();
const message = { method: "POST", headers: { "content-type": "application/json" }, body: '{"é":1}' };

const refusal = (url: string, allowsPrivate: boolean) =>
  fetchFromPublicAddresses(allowsPrivate)(new URL(url), message).then(
    () => "answered",
    (error: Error) =>
      String(error.cause).includes("is private") && hasSentNothing(error) ? "private" : "another failure",
  );

describe("an address that is not public", () => {
  test.each([
    "https://10.1.2.3/hook",
    "https://172.31.0.1/hook",
    "https://192.168.0.1/hook",
    "https://100.64.0.1/hook",
    "https://127.0.0.1:1/hook",
    "https://2130706433:1/hook",
    "https://[::1]:1/hook",
    "https://[fd00::1]/hook",
    "https://[::ffff:10.0.0.1]/hook",
  ])("is refused without a connection, unless private addresses are allowed: %s", async url => {
    expect(await refusal(url, false)).toBe("private");
  });

  test.each([
    "https://169.254.169.254/metadata",
    "https://0.0.0.0/hook",
    "https://168.63.129.16/hook",
    "https://224.0.0.1/hook",
    "https://[fe80::1]/hook",
    "https://[64:ff9b::a00:1]/hook",
    "https://[::]/hook",
  ])("is refused in any case: %s", async url => {
    expect(await refusal(url, true)).toBe("private");
  });

  test("is refused if a name resolves to it", async () => {
    expect(await refusal("https://localhost:1/hook", false)).toBe("private");
  });

  test("is called if private addresses are allowed", async () => {
    expect(await refusal("https://localhost:1/hook", true)).toBe("another failure");
    expect(await refusal("https://127.0.0.1:1/hook", true)).toBe("another failure");
  });
});

describe("a server on the loopback, in a local run", () => {
  let server: Server;
  let url: string;
  const bodies: string[] = [];
  const closed = Promise.withResolvers<void>();
  const silent = Promise.withResolvers<void>();

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === "/redirect") return response.writeHead(302, { location: `${url}/target` }).end();
      if (request.url === "/switch")
        return request.socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
      if (request.url === "/busy") return response.writeHead(503, ["retry-after", "0", "retry-after", "120"]).end();
      if (request.url === "/silent") return silent.resolve();
      if (request.url === "/endless") {
        response.once("close", () => closed.resolve());
        response.writeHead(200);
        const more = (): void => void response.write("x".repeat(65_536), error => error == null && setImmediate(more));
        return more();
      }
      let body = "";
      request.setEncoding("utf8");
      request.on("data", chunk => {
        body += chunk;
      });
      request.on("end", () => {
        bodies.push(body);
        response.writeHead(503, { "retry-after": "7" }).end();
      });
    });
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const post = async (path: string, ended = signal) => {
    const { status, headers, body } = await fetchFromPublicAddresses(false)(new URL(`${url}${path}`), {
      ...message,
      signal: ended,
    });
    return { status, retryAfter: headers.get("retry-after"), body };
  };

  test("receives the body, and its status and Retry-After are returned", async () => {
    expect(await post("/hook")).toEqual({ status: 503, retryAfter: "7", body: null });
    expect(bodies).toEqual([message.body]);
  });

  test("has all its Retry-After headers returned, joined as `fetch` does", async () => {
    expect(await post("/busy")).toMatchObject({ status: 503, retryAfter: "0, 120" });
  });

  test("receives no second call when it redirects", async () => {
    expect(await post("/redirect")).toMatchObject({ status: 302, retryAfter: null });
    expect(bodies).toHaveLength(1);
  });

  test("cannot keep the call by switching protocols", async () => {
    await expect(post("/switch")).rejects.toThrow("without a response");
  });

  test("loses the connection when the signal ends the call", async () => {
    const limit = new AbortController();
    const call = post("/silent", limit.signal);
    await silent.promise;
    limit.abort();
    await expect(call).rejects.toThrow();
  });

  test("cannot keep the call open by an endless body", async () => {
    expect(await post("/endless")).toMatchObject({ status: 200 });
    await closed.promise;
  });
});
