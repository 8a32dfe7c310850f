import { describe, expect, test } from "vitest";
import { configuredIdps } from "../../../../lib/connector/idp/configured-idps.ts";
import type { Idp } from "../../../../lib/connector/idp/contract.ts";
import { readIdpFile } from "../../../../lib/connector/idp/idp-file.ts";
import type { IdpSettings } from "../../../../lib/connector/idp/kinds.ts";
import { vendorHosts } from "../../../../lib/connector/idp/secret-hosts.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { instant } from "../../../../lib/platform/time.ts";

const main = "main: { type: B, tenant-id: t, client-id: c }\n";
const other = "other: { type: B, tenant-id: t, client-id: d }\n";

type Content = string | undefined | Error | Promise<string>;

/** IdPs by a file that a test changes, and a clock that it moves. */
function configured(start: Content, { known = false }: { known?: boolean } = {}) {
  let content = start;
  let time = 0;
  let reads = 0;
  const connected: string[] = [];
  const lines: string[] = [];
  const file = {
    read: async () => {
      reads++;
      if (content instanceof Error) throw content;
      const text = await content;
      return text === undefined ? undefined : Buffer.from(text);
    },
    maxAgeMs: 300_000,
    retryAfterMs: 30_000,
  };
  const idps = configuredIdps({
    defaultId: "main",
    secretHosts: vendorHosts,
    known: known ? readIdpFile(Buffer.from(main), "main", vendorHosts).idps : undefined,
    file,
    connect: (id, settings: IdpSettings) => {
      connected.push(`${id}: ${"client-id" in settings ? settings["client-id"] : ""}`);
      return { id } as Idp;
    },
    now: () => instant(time),
    log: createLog((level, line) => lines.push(`${level} ${line}`)),
  });
  return {
    idps,
    connected,
    reads: () => reads,
    events: () => lines.splice(0).map(line => line.replace(/^(\w+) \{"event":"(\w+)".*$/s, "$1 $2")),
    last: () => lines.at(-1) ?? "",
    ids: () => [...idps.settings().keys()],
    become: (next: Content) => {
      content = next;
    },
    pass: (seconds: number) => {
      time += seconds * 1000;
    },
  };
}

describe("the IdPs of a file", () => {
  test("are read again after 5 minutes, and not before", async () => {
    const idp = configured(main, { known: true });
    expect(idp.ids()).toEqual(["main"]);
    idp.become(main + other);
    idp.pass(299.999);
    await idp.idps.ready();
    expect([idp.reads(), idp.ids()]).toEqual([0, ["main"]]);
    idp.pass(0.001);
    await idp.idps.ready();
    expect([idp.reads(), idp.ids()]).toEqual([1, ["main", "other"]]);
    expect(idp.idps.get("other")?.id).toBe("other");
    idp.pass(299.999);
    await idp.idps.ready();
    expect(idp.reads()).toBe(1);
    expect(idp.events()).toEqual([]);
  });

  test("are read once for concurrent callers", async () => {
    const idp = configured(main);
    await Promise.all([idp.idps.ready(), idp.idps.ready(), idp.idps.ready()]);
    expect(idp.reads()).toBe(1);
  });

  test("keep their clients and the clients' tokens while their settings do not change", async () => {
    const idp = configured(main + other);
    await idp.idps.ready();
    const [before, changed] = [idp.idps.get("main"), idp.idps.get("other")];
    idp.become(`# moved\n${other.replace("client-id: d", "client-id: e")}${main}`);
    idp.pass(300);
    await idp.idps.ready();
    expect(idp.idps.get("main")).toBe(before);
    expect(idp.idps.get("other")).not.toBe(changed);
    expect(idp.connected).toEqual(["main: c", "other: d", "other: e"]);
  });

  test("are removed when they are removed from the file", async () => {
    const idp = configured(main + other);
    await idp.idps.ready();
    idp.become(main);
    idp.pass(300);
    await idp.idps.ready();
    expect(idp.idps.get("other")).toBeUndefined();
    expect(idp.ids()).toEqual(["main"]);
  });

  test.each([
    ["is bad", `${main}other: { type: B, client-id: hunter2 }\n`, "IDP_CONFIGURATION_PATH/other/tenant-id"],
    ["has lost the default", other, "IDP_DEFAULT"],
    ["is gone", undefined, "IDP_CONFIGURATION_PATH"],
  ])("stay the last valid ones when it %s, and each time an error is logged", async (_, content, path) => {
    const idp = configured(main);
    await idp.idps.ready();
    idp.become(content);
    for (const reads of [2, 3]) {
      idp.pass(300);
      await idp.idps.ready();
      expect([idp.reads(), idp.ids()]).toEqual([reads, ["main"]]);
      expect(JSON.parse(idp.last().replace(/^error /, ""))).toMatchObject({
        event: "bad_idp_configuration",
        kept: true,
        problems: [{ path }],
      });
      expect(idp.last()).not.toContain("hunter2");
    }
    idp.become(main + other);
    idp.pass(300);
    await idp.idps.ready();
    expect(idp.ids()).toEqual(["main", "other"]);
  });

  test("stay the last valid ones while it cannot be read, and it is read again sooner", async () => {
    const idp = configured(main);
    await idp.idps.ready();
    idp.become(new Fault("unavailable", "Storage is away."));
    idp.pass(300);
    await idp.idps.ready();
    expect(idp.events()).toEqual(["warn idp_configuration_unread"]);
    idp.become(main + other);
    idp.pass(29.999);
    await idp.idps.ready();
    expect(idp.ids()).toEqual(["main"]);
    idp.pass(0.001);
    await idp.idps.ready();
    expect(idp.ids()).toEqual(["main", "other"]);
  });

  test("are unknown until the file is valid: callers get Retry-After, and the file is read again", async () => {
    const idp = configured(new Fault("unavailable", "Storage is away."));
    const refused = { kind: "unavailable", retryAfterSeconds: 10, message: "The service is not configured." };
    await expect(idp.idps.ready()).rejects.toMatchObject(refused);
    expect(idp.events()).toEqual(["error idp_configuration_unread"]);
    expect(idp.idps.get("main")).toBeUndefined();
    idp.become("main: {}");
    await expect(idp.idps.ready()).rejects.toMatchObject(refused);
    expect(idp.reads()).toBe(1);
    idp.pass(30);
    await expect(idp.idps.ready()).rejects.toMatchObject(refused);
    expect(idp.events()).toEqual(["error bad_idp_configuration"]);
    idp.become(main);
    idp.pass(30);
    await idp.idps.ready();
    expect(idp.ids()).toEqual(["main"]);
  });
});

describe("the IdP of the environment", () => {
  test("is known at the start without reading a file", async () => {
    const known = readIdpFile(Buffer.from(main), "main", vendorHosts).idps;
    const idps = configuredIdps({
      defaultId: "main",
      secretHosts: vendorHosts,
      known,
      connect: id => ({ id }) as Idp,
      now: () => instant(0),
      log: createLog(() => {}),
    });
    await idps.ready();
    expect(idps.get("main")?.id).toBe("main");
    expect(idps.settings()).toEqual(known);
  });
});
