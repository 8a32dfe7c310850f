import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPackage } from "../../../local/package/build.ts";
import { bundleApp, nativePath } from "../../../local/package/bundle.ts";
import { type PackageFiles, writePackage, zipPackage } from "../../../local/package/files.ts";
import { argon2Binary, azurePlatform, ownPlatform } from "../../../local/package/native.ts";
import type { Served } from "../../../local/package/serve.ts";
import { closePeers, type Peers, startPeers } from "../../../local/peers/all.ts";
import { describeSystem, type System } from "../../../local/start/system.ts";
import { builtPackage, readPackage } from "../../support/host/built-package.ts";
import { compileCache } from "../../support/host/compile-cache.ts";
import { freshStorage } from "../../support/storage/fresh-storage.ts";
import { emptyDirectory, endAll } from "../start/start-process.ts";
import type { StartReport } from "./start-once.ts";

const root = join(import.meta.dirname, "../../..");
let files: PackageFiles;
/** Outside of the checkout: nothing there but what was built. */
let folder: string;

beforeAll(async () => {
  folder = await builtPackage();
  files = readPackage(folder);
});
afterAll(endAll);

const text = (path: string): string => Buffer.from(files.get(path) ?? []).toString("utf8");
const paths = (): readonly string[] => [...files.keys()];

describe("the package", () => {
  it("has what the host looks for at its top: host.json, and a package.json that names the entry", () => {
    expect(text("host.json")).toBe(readFileSync(join(root, "host.json"), "utf8"));
    const { main, type, version, dependencies } = JSON.parse(text("package.json"));
    expect(paths()).toContain(main);
    expect({ type, dependencies }).toEqual({ type: "module", dependencies: undefined });
    expect(version).toBe(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
  });

  it("contains files of deployed code and packages only, each script with its map", () => {
    const scripts = paths().filter(path => path.endsWith(".js"));
    const sources = new Set<string>();
    for (const script of scripts) {
      for (const source of JSON.parse(text(`${script}.map`)).sources as string[]) sources.add(source);
    }
    const own = [...sources].filter(source => source.startsWith("../../") && !source.includes("node_modules"));
    expect(own).toContain("../../functions/main.ts");
    expect(own.filter(source => !/^\.\.\/\.\.\/(functions|lib)\//.test(source))).toEqual([]);
    const rest = paths().filter(path => !/\.js(\.map)?$/.test(path));
    expect(rest.sort()).toEqual([".funcignore", "THIRD-PARTY-NOTICES.txt", nativePath, "host.json", "package.json"]);
  });

  it("loads what few calls need from files of their own", () => {
    const parts = ["language-common", "identity", "communication-email", "storage-blob", "keyvault-secrets", "yaml"];
    for (const part of parts) {
      const holding = paths()
        .filter(path => path.endsWith(".js.map"))
        .filter(path => (JSON.parse(text(path)).sources as string[]).some(source => source.includes(`/${part}/`)));
      expect(holding, part).not.toEqual([]);
      for (const path of holding) expect(path, part).not.toMatch(/^dist\/(main|auth-service|connector-service)/);
    }
  });

  it("computes an imported hash in a thread: the file that starts it is also its code", async () => {
    const file = paths().find(path => /^dist\/crypt-thread-\w+\.js$/.test(path)) ?? "";
    const { cryptInThread } = await import(/* @vite-ignore */ pathToFileURL(join(folder, file)).href);
    const input = { password: "correct horse battery", scheme: "sha256-crypt", cost: 1000, salt: "saltsalt" };
    expect(await cryptInThread(input)).toBe("DoN2WcBhpG46VIH/EyfZvcagZwm42q0Yk.N4cUSDxm1");
  });

  it("names the licence of every package in it", () => {
    const notices = text("THIRD-PARTY-NOTICES.txt");
    for (const name of ["zod 4", "jose 6", "@azure/data-tables 13", "@node-rs/argon2 2"])
      expect(notices).toContain(name);
    expect(notices).not.toContain("vitest");
    expect(notices).not.toContain("licence not named");
  });

  it("is the same to the byte when built again, zipped in another time zone too", async () => {
    const zone = process.env.TZ;
    // The zone could change the header of each file. To compress the contents again would take seconds.
    const isSmall = ([path]: readonly [string, Uint8Array]) => path.endsWith(".json");
    const first = zipPackage(new Map([...files].filter(isSmall)));
    try {
      process.env.TZ = "Pacific/Auckland";
      const again = await buildPackage(root, ownPlatform(root));
      expect([...again.keys()].sort()).toEqual([...paths()].sort());
      for (const [path, contents] of again)
        expect(Buffer.compare(contents, files.get(path) ?? new Uint8Array()), path).toBe(0);
      expect(Buffer.compare(zipPackage(new Map([...again].filter(isSmall))), first)).toBe(0);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it("is at most 6 MiB zipped, and the zip contains the folder", () => {
    const zip = zipPackage(files);
    expect(zip.byteLength).toBeLessThanOrEqual(6 * 1024 * 1024);
    expect(Object.entries(unzipSync(zip)).map(([path, { byteLength }]) => [path, byteLength])).toEqual(
      [...paths()].sort().map(path => [path, files.get(path)?.byteLength]),
    );
  });

  it("leaves nothing of an earlier build in the folder", () => {
    const again = join(emptyDirectory(), "package");
    writePackage(again, new Map([["dist/old.js", Buffer.from("")]]));
    writePackage(again, new Map([["dist/new.js", Buffer.from("")]]));
    expect(readdirSync(join(again, "dist"))).toEqual(["new.js"]);
  });

  it("stays in its place while the same is built again: several services are packed from one folder", () => {
    const again = join(emptyDirectory(), "package");
    writePackage(again, files);
    const before = statSync(join(again, "dist/main.js"));
    writePackage(again, files);
    expect(statSync(join(again, "dist/main.js"))).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
    expect(readdirSync(join(again, ".."))).toEqual(["package"]);
  });

  it("is not built where something would have to be found at run time", async () => {
    const project = emptyDirectory();
    mkdirSync(join(project, "functions"));
    writeFileSync(join(project, "package.json"), '{"type":"module"}');
    writeFileSync(join(project, "functions/main.ts"), 'try { require("absent-package"); } catch {} export {};');
    await expect(bundleApp(project)).rejects.toThrow("The package would lack: absent-package");
  });
});

describe("the native binary", () => {
  it("is that of Azure's platform: Linux, x64", () => {
    const binary = Buffer.from(argon2Binary(root, azurePlatform));
    expect(binary.subarray(0, 5).toString("latin1")).toBe("\x7fELF\x02");
    expect(binary.readUInt16LE(18)).toBe(0x3e);
  });

  /** A checkout on a machine of another platform, with an npm that has one archive. */
  function elsewhere(locked: "right" | "wrong"): string {
    const project = emptyDirectory();
    const platform = "other-x64";
    const packed = join(project, "packed");
    mkdirSync(join(packed, "package"), { recursive: true });
    writeFileSync(join(packed, `package/argon2.${platform}.node`), "the binary");
    const bin = join(project, "bin");
    mkdirSync(bin);
    const archive = join(project, "a.tgz");
    writeFileSync(join(bin, "npm"), `#!/bin/sh\nexec cp ${archive} "$4"\n`, { mode: 0o755 });
    process.env.PATH = [bin, process.env.PATH].join(delimiter);
    const tar = spawnTar(packed, archive);
    const integrity = `sha512-${createHash("sha512")
      .update(locked === "right" ? tar : "another")
      .digest("base64")}`;
    const name = `node_modules/@node-rs/argon2-${platform}`;
    writeFileSync(
      join(project, "package-lock.json"),
      JSON.stringify({ packages: { [name]: { version: "1.2.3", integrity } } }),
    );
    return project;
  }
  const path = process.env.PATH;
  const restore = () => {
    process.env.PATH = path;
  };

  it.skipIf(process.platform === "win32")("is brought by npm where this machine has another", () => {
    try {
      expect(Buffer.from(argon2Binary(elsewhere("right"), "other-x64")).toString()).toBe("the binary");
    } finally {
      restore();
    }
  });

  it.skipIf(process.platform === "win32")("is refused where it is not what package-lock.json names", () => {
    try {
      expect(() => argon2Binary(elsewhere("wrong"), "other-x64")).toThrow("is not what package-lock.json names");
    } finally {
      restore();
    }
  });
});

function spawnTar(directory: string, archive: string): Buffer {
  const { status } = spawnSync("tar", ["-czf", archive, "package"], { cwd: directory });
  expect(status).toBe(0);
  return readFileSync(archive);
}

describe("the package under the local host", () => {
  let peers: Peers;
  let system: Omit<System, "close">;
  const hosts: ChildProcess[] = [];

  beforeAll(async () => {
    peers = await startPeers();
    system = await describeSystem(freshStorage(), peers);
  });
  afterAll(async () => {
    for (const host of hosts) host.disconnect();
    await closePeers(peers);
  });

  async function serve(apis: string): Promise<Served> {
    const host = fork(join(root, "local/package/serve.ts"), [folder], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...compileCache, ...system.settings, SERVICE_APIS: apis },
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    hosts.push(host);
    return (await firstMessage(host, apis)) as Served;
  }

  async function firstMessage(host: ChildProcess, apis: string): Promise<unknown> {
    const [message] = await Promise.race([
      once(host, "message"),
      once(host, "exit").then(([code]) => {
        throw new Error(`the host of ${apis} ended with ${code}`);
      }),
    ]);
    return message;
  }

  async function startOnce(apis: string, path: string): Promise<StartReport> {
    const child = fork(join(import.meta.dirname, "start-once.ts"), [folder, path], {
      env: { PATH: process.env.PATH, ...compileCache, ...system.settings, SERVICE_APIS: apis },
      execArgv: ["--disable-warning=ExperimentalWarning"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const ended = once(child, "exit");
    const report = await firstMessage(child, apis);
    await ended;
    return report as StartReport;
  }

  const ofEveryApi = ["@azure/core-tracing", "cookie", "jose", "p-limit", "yocto-queue", "zod"];
  const ofOtps = ["@noble/hashes", "@scure/base", "otplib"].concat(
    ["core", "hotp", "plugin-base32-scure", "plugin-crypto-noble", "totp"].map(name => `@otplib/${name}`),
  );

  // Without a limit on time: the packages and schemas are what the CPU time of a start depends on (bench/README.md).
  it.each([
    { api: "core", path: "/core/users", own: ofOtps, mostSchemas: 180 },
    { api: "client", path: "/client/status", own: ofOtps, mostSchemas: 180 },
    { api: "connector", path: "/v2/status", own: ["cborg", "i18n-iso-countries"], mostSchemas: 310 },
  ])("loads no SDK and builds few schemas before the first answer of $api", async ({ api, path, own, mostSchemas }) => {
    const { status, files: loaded, schemas } = await startOnce(api, path);
    expect(status).toBe(401);
    const sources = loaded.flatMap(file => JSON.parse(text(`${file}.map`)).sources as string[]);
    const packages = sources.flatMap(source => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []);
    expect([...new Set(packages)].sort()).toEqual([...ofEveryApi, ...own].sort());
    // As a module it loads all of Node's fetch, which costs as much as the settings and schemas together.
    for (const file of loaded) expect(text(file), file).not.toContain('from"node:http"');
    expect(schemas).toBeGreaterThan(100);
    expect(schemas).toBeLessThanOrEqual(mostSchemas);
  });

  it("answers health and an authenticated call on every API", async () => {
    const [core, client, connector] = await Promise.all(["core", "client", "connector"].map(serve));
    if (core === undefined || client === undefined || connector === undefined) throw new Error("no host");
    for (const { url } of [core, client, connector]) {
      // As browsers send it: its UTF-8 bytes.
      const cookie = Buffer.from("theme=☕").toString("latin1");
      expect((await fetch(`${url}/health`, { headers: { cookie } })).status, url).toBe(200);
    }
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const credentials = { username: "ada", password: "a password of one user only" };
    const created = await fetch(`${core.url}/core/users`, {
      method: "POST",
      headers: bearer(system.tokens.core),
      body: new URLSearchParams(credentials),
    });
    expect(created.status).toBe(201);
    const login = await fetch(`${client.url}/client/login`, {
      method: "POST",
      body: new URLSearchParams(credentials),
    });
    const { session } = (await login.json()) as { readonly session: string };
    const status = await fetch(`${client.url}/client/status`, { headers: { "x-service-session": session } });
    expect(await status.json()).toMatchObject({ username: "ada" });
    const response = await fetch(`${connector.url}/v2/status`, { headers: bearer(system.tokens.connector) });
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveProperty("FIDO_CONNECTOR_VERSION");
    expect(core.functions.some(name => connector.functions.includes(name) && name !== "health")).toBe(false);
  });
});
