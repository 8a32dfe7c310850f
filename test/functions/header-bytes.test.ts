import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { goodSettings, startMain } from "./main-process.ts";

/** Sends a header as UTF-8 bytes, as browsers send cookies. Returns the status. */
async function statusOf(url: string, method: string, path: string, header: string): Promise<number> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n${header}\r\n\r\n`);
  const answer = (await buffer(socket)).toString("latin1");
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
}

// `new Request` of @azure/functions throws for such a value before our code runs; see http-invocation.ts.
test.each([
  ["good settings", goodSettings, 40],
  ["bad settings", { ...goodSettings, TRUSTED_PROXIES: "x" }, 4],
])("no header value changes what a route answers, with %s", async (_, settings, least) => {
  const main = await startMain(settings);
  try {
    const routes = main.functions.flatMap(({ bindings }) =>
      bindings
        .filter(({ type, route }) => type === "httpTrigger" && !route?.startsWith("maintenance/"))
        .flatMap(({ route = "", methods = [] }) => methods.map(method => [method, `/${route.replace(/[{}*]/g, "")}`])),
    );
    expect(routes.length).toBeGreaterThan(least);
    for (const [method = "", path = ""] of routes) {
      const plain = await statusOf(main.url, method, path, "Cookie: theme=x");
      expect([method, path, plain]).not.toContain(500);
      for (const value of path === "/health" ? ["☕", "Grüße", "\u{1f469}", "\u00a0"] : ["☕"]) {
        const status = await statusOf(main.url, method, path, `Cookie: theme=${value}`);
        expect([method, path, value, status]).toEqual([method, path, value, plain]);
      }
    }
  } finally {
    await main.end();
  }
});
