import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Peer, startPeer } from "../../../local/peers/peer.ts";

let peer: Peer;
let done: string[];

beforeEach(async () => {
  done = [];
  peer = await startPeer("thing", {
    handle: ({ method, path, query, body }) => {
      done.push(`${method} ${path}`);
      if (path === "/broken") throw new Error("a bug of the peer");
      return path.startsWith("/thing")
        ? { status: 200, headers: { "x-peer": "thing" }, body: { path, q: query.get("q"), body: body.toString() } }
        : undefined;
    },
    control: { "GET own": () => ["own"] },
  });
});

afterEach(() => peer.close());

const get = (path: string, init?: RequestInit) => fetch(peer.url + path, init);
const control = (method: string, path: string, body?: unknown) =>
  get(`/_control/${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });

describe("a peer", () => {
  test("responds 404 without a route and 500 if it fails itself", async () => {
    expect((await get("/elsewhere")).status).toBe(404);
    const write = console.error;
    console.error = () => {};
    try {
      expect((await get("/broken")).status).toBe(500);
    } finally {
      console.error = write;
    }
  });

  test("listens on the loopback address only and names a port that is in use", async () => {
    expect(peer.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const port = Number(new URL(peer.url).port);
    await expect(startPeer("second", { handle: () => undefined, port })).rejects.toThrow(
      `second cannot start: port ${port} on 127.0.0.1 is in use`,
    );
  });

  test("counts its calls, except control calls", async () => {
    await get("/thing/1");
    await get("/thing/2", { method: "PUT" });
    await control("GET", "own");
    expect(peer.requests().map(({ method, path, status }) => ({ method, path, status }))).toEqual([
      { method: "GET", path: "/thing/1", status: 200 },
      { method: "PUT", path: "/thing/2", status: 200 },
    ]);
    expect(peer.count("GET", /thing/g)).toBe(1);
    expect(peer.count("GET", /thing/g)).toBe(1);
    expect(await (await control("GET", "requests")).json()).toMatchObject({ total: 2, hanging: 0 });
    expect((await control("DELETE", "requests")).status).toBe(204);
    expect(peer.requests()).toEqual([]);
    await peer.untilRequested("GET", /thing/, 0);
  });

  test("drops open connections when it closes", async () => {
    peer.fail({ kind: "hang" });
    const call = expect(get("/thing")).rejects.toThrow();
    await peer.untilHanging();
    await peer.close();
    await call;
    expect(done).toEqual([]);
  });
});

describe("a fault", () => {
  test("affects n calls, and only matching ones", async () => {
    peer.fail({ kind: "refuse", status: 418, times: 2, method: "post", path: "^/thing/\\d$" });
    expect((await get("/thing/1")).status).toBe(200);
    expect((await get("/thing/x", { method: "POST" })).status).toBe(200);
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await get("/thing/1", { method: "POST" })).status);
    expect(statuses).toEqual([418, 418, 200]);
  });

  test.each(["before", "after"] as const)("of kind hang in phase %s ends with the release", async phase => {
    peer.fail({ kind: "hang", phase, times: 2 });
    const calls = [get("/thing"), get("/thing")];
    await peer.untilHanging(2);
    await peer.untilRequested("GET", /thing/, 2);
    expect(peer.hanging()).toBe(2);
    expect(done).toHaveLength(phase === "before" ? 0 : 2);
    expect(peer.requests()).toMatchObject([{ status: null }, { status: null }]);
    peer.release();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200]);
    expect(done).toHaveLength(2);
    expect(peer.hanging()).toBe(0);
  });

  test("that hangs ends without the work if the caller disconnects", async () => {
    peer.fail({ kind: "hang" });
    const giveUp = new AbortController();
    const call = expect(get("/thing", { signal: giveUp.signal })).rejects.toThrow();
    await peer.untilHanging();
    giveUp.abort();
    await call;
    await expect.poll(() => peer.hanging()).toBe(0);
    peer.release();
    expect(done).toEqual([]);
  });

  test("can be set, listed, released and cleared over HTTP", async () => {
    expect((await control("POST", "faults", { kind: "hang" })).status).toBe(200);
    expect((await control("POST", "faults", { kind: "refuse" })).status).toBe(200);
    const call = get("/thing");
    await peer.untilHanging();
    expect(await (await control("GET", "requests")).json()).toMatchObject({ total: 1, hanging: 1 });
    expect(await (await control("POST", "release")).json()).toEqual({ released: 1 });
    expect((await call).status).toBe(200);
    expect((await control("DELETE", "faults")).status).toBe(204);
    expect(await (await control("GET", "faults")).json()).toEqual([]);
    expect((await get("/thing")).status).toBe(200);
  });

  test("that is invalid is refused with every wrong field", async () => {
    const answer = await control("POST", "faults", { kind: "explode", times: 0, path: "(", colour: "red" });
    expect(answer.status).toBe(400);
    const { problems } = (await answer.json()) as { problems: { path: string }[] };
    expect(problems.map(({ path }) => path).sort()).toEqual(["colour", "kind", "path", "times"]);
    expect((await get("/_control/faults", { method: "POST", body: "{" })).status).toBe(400);
    expect(() => peer.fail({ kind: "hang", times: 0 })).toThrow();
  });
});
