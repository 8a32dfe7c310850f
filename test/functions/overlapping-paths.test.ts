import { afterEach, describe, expect, it, vi } from "vitest";
import { start } from "../../functions/start.ts";
import { startHost } from "../../local/host/host.ts";
import { functionsCoreOfFile } from "../support/host/functions-core-of-file.ts";
import { goodSettings } from "./main-process.ts";

const core = functionsCoreOfFile();
afterEach(() => {
  core.unregisterAll();
  vi.restoreAllMocks();
});

describe("a start that is refused because paths of APIs overlap", () => {
  it.each([
    { CORE_PATH: "fido", CLIENT_PATH: "fido", CONNECTOR_PATH: "fido" },
    { CORE_PATH: "/", CLIENT_PATH: "/" },
    { CORE_PATH: "keys", CONNECTOR_PATH: "KEYS" },
    { CORE_PATH: "client", CLIENT_PATH: "admin" },
  ])("answers 503 to the routes of each API, and leaves no function in error: %j", async paths => {
    const logged = vi.spyOn(console, "error").mockReturnValue();
    await start({ ...goodSettings, ...paths });
    expect(logged.mock.calls.join()).toMatch(/bad_settings.*_PATH/);

    const lines: unknown[] = [];
    const log = (...line: readonly string[]) => line[0] !== "information" && lines.push(line);
    const host = await startHost(core, { port: 0, timers: false, env: {}, log });
    try {
      expect(lines).toEqual([]);
      expect(host.functions.length).toBe(core.functions.size);
      const { CORE_PATH, CLIENT_PATH = "client", CONNECTOR_PATH = "" } = paths;
      for (const [path, route] of [
        [CORE_PATH, "users/a"],
        [CORE_PATH, "api-tokens"],
        [CLIENT_PATH === "admin" ? "client" : CLIENT_PATH, "login"],
        [CONNECTOR_PATH, "api-tokens"],
        [CONNECTOR_PATH, "v2/status"],
      ]) {
        const method = route === "login" ? "POST" : "GET";
        const { status } = await fetch(new URL(`${path}/${route}`.replace(/^\/*/, "/"), host.url), { method });
        expect([path, route, status]).toEqual([path, route, 503]);
      }
    } finally {
      await host.stop();
    }
  });
});
