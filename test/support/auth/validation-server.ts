import { spawnSync } from "node:child_process";
import { createDecipheriv, createHmac } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../local/azure-host/free-port.ts";
import { type Peer, startPeer } from "../../../local/peers/peer.ts";
import { until } from "../until.ts";
import type { SoftwareKey } from "./software-key.ts";

/** A server of the validation protocol 2.0. */
export interface ValidationServer {
  /** Of `verify`. */
  readonly url: string;
  readonly clientId: string;
  /** Stores the secret of a key of kind `yubico` in it. */
  add(key: SoftwareKey): void;
  close(): Promise<void>;
}

/** A server with configurable failures that counts its requests. */
export type SimulatedServer = ValidationServer & Omit<Peer, "url" | "close">;

const verifyPath = "/wsapi/2.0/verify";

/** @param clientKey requests have to be signed with it, and answers are */
export async function simulatedServer(clientKey: Uint8Array): Promise<SimulatedServer> {
  const clientId = "42";
  const keys = new Map<string, SoftwareKey>();
  const lastUse = new Map<string, number>();
  const signed = (message: Readonly<Record<string, string>>) =>
    createHmac("sha1", clientKey)
      .update(
        Object.entries(message)
          .sort()
          .map(pair => pair.join("="))
          .join("&"),
      )
      .digest("base64");

  const statusOf = ({ id, otp = "", h, ...rest }: Record<string, string>): string => {
    if (id !== clientId) return "NO_SUCH_CLIENT";
    if (h !== signed({ id, otp, ...rest })) return "BAD_SIGNATURE";
    const key = keys.get(otp.slice(0, -32));
    const use = key && useOf(key, otp.slice(-32));
    if (key === undefined || use === undefined) return "BAD_OTP";
    if (use <= (lastUse.get(key.prefix) ?? -1)) return "REPLAYED_OTP";
    lastUse.set(key.prefix, use);
    return "OK";
  };

  const { url, ...peer } = await startPeer("validation", {
    handle: ({ path, query }) => {
      if (path !== verifyPath) return undefined;
      const { otp = "", nonce = "", ...rest } = Object.fromEntries(query);
      const answer = { t: "2031-01-01T00:00:00Z0001", otp, nonce, status: statusOf({ otp, nonce, ...rest }) };
      const lines = Object.entries({ h: signed(answer), ...answer }).map(pair => pair.join("="));
      return { status: 200, headers: { "content-type": "text/plain" }, body: `${lines.join("\r\n")}\r\n` };
    },
  });
  return { ...peer, url: url + verifyPath, clientId, add: key => void keys.set(key.prefix, key) };
}

/** Use and session counter of a block; undefined where it is not the key's. */
function useOf({ secret, fields }: SoftwareKey, code: string): number | undefined {
  const hex = code.replace(/./g, letter => "cbdefghijklnrtuv".indexOf(letter).toString(16));
  const cipher = createDecipheriv("aes-128-ecb", secret, null).setAutoPadding(false);
  const block = Buffer.concat([cipher.update(hex, "hex"), cipher.final()]);
  if (block.subarray(0, 6).toString("hex") !== fields.private_id) return undefined;
  return block.readUInt16LE(6) * 256 + block.readUInt8(11);
}

/** Whether Debian's package `yubiserver` is there. */
export const hasYubiserver = (): boolean =>
  spawnSync("yubiserver-admin", ["--help"]).error === undefined && initialDatabase() !== undefined;

const initialDatabase = () =>
  ["/etc/yubiserver/yubiserver.sqlite.init", "/var/lib/yubiserver/yubiserver.sqlite"].find(path => existsSync(path));

/** @param clientKey 20 characters of ASCII, which it wants */
export async function yubiserver(clientKey: Uint8Array): Promise<ValidationServer> {
  const directory = mkdtempSync(join(tmpdir(), "yubiserver-"));
  const database = join(directory, "keys.sqlite");
  copyFileSync(initialDatabase() ?? "", database);
  const admin = (...words: string[]) => {
    const { status, stdout, stderr } = spawnSync("yubiserver-admin", ["-b", database, ...words], { encoding: "utf8" });
    if (status !== 0) throw new Error(`yubiserver-admin failed: ${stdout}${stderr}`);
    return stdout;
  };
  const output = admin("-p", "-a", "client", Buffer.from(clientKey).toString("latin1"));
  const clientId = /ID is: (\d+)/.exec(output)?.[1] ?? "1";
  // It goes on as a user of its own, which must be able to write here.
  for (const [path, mode] of [
    [directory, 0o777],
    [database, 0o666],
  ] as const)
    chmodSync(path, mode);
  const port = await freePort();
  // It moves itself to the background without reporting its process id.
  spawnSync("yubiserver", ["-d", database, "-p", String(port), "-l", join(directory, "log")]);
  const url = `http://127.0.0.1:${port}${verifyPath}`;
  const answers = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  await until(answers, () => "yubiserver does not answer");
  let names = 0;
  return {
    url,
    clientId,
    add: ({ prefix, fields }) =>
      void admin("-y", "-a", `key${names++}`, prefix, fields.private_id ?? "", fields.secret ?? ""),
    close: async () => {
      for (const pid of processesOn(database)) process.kill(pid, "SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Ids of the processes that were started with that file. */
const processesOn = (file: string): readonly number[] =>
  readdirSync("/proc")
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(file);
      } catch {
        return false;
      }
    })
    .map(Number);
