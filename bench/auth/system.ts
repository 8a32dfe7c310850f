import { execFileSync, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { closePeers, startPeers } from "../../local/peers/all.ts";
import { startStorage } from "../../local/peers/storage/storage.ts";
import { describeSystem } from "../../local/start/system.ts";
import { hotpCode, yubicoCode } from "../../test/lib/auth/otpkeys/kinds/codes.ts";
import type { Command, Hashed, Started, Usage, WorkerTimes } from "./host.ts";
import { caller, type Send } from "./load.ts";
import { password } from "./password.ts";

// Taken before any process is pinned: the number counts only the cores that this one may use.
const cores = availableParallelism();

export interface BenchOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Gives the host the first core alone, and the others to storage and load. */
  readonly pin?: boolean;
  /** Whether HTTP is read in a process of its own, as in Azure, so that the host's process is the worker alone. */
  readonly separateFront?: boolean;
}

/** A host in a process of its own, and storage in another. */
export interface Bench {
  readonly url: string;
  readonly send: Send;
  /** Makes a user, with an OTP key if a prefix is given: `hotp` unless another kind is given. */
  user(username: string, prefix?: string, kind?: "hotp" | "yubico"): Promise<BenchUser>;
  /** Headers of a caller of Core. */
  readonly coreHeaders: Readonly<Record<string, string>>;
  usage(): Promise<Usage>;
  /** With `separateFront`: milliseconds between the front and the worker's responses since the last call, by function and status. */
  workerTimes(): Promise<WorkerTimes>;
  /** CPU time of the storage since its start. */
  storageCpuMs(): number;
  /** Writes a CPU profile of what the host does meanwhile. */
  profiled<T>(file: string, work: () => Promise<T>): Promise<T>;
  hash(hashMs: number, inFlight: number): Promise<Hashed>;
  /** With `pin`, gives the cores that are not the host's to a process that a bench has started. */
  pinOther(pid: number): void;
  stop(): Promise<void>;
}

export interface BenchUser {
  readonly username: string;
  /** A new genuine OTP. */
  otp(): string;
  wrongOtp(): string;
}

export async function startBench(options: BenchOptions = {}): Promise<Bench> {
  const { settings = {}, pin = false, separateFront = false } = options;
  const storage = await startStorage();
  const peers = await startPeers();
  const { settings: described, tokens } = await describeSystem(storage, peers);
  const host = fork(fileURLToPath(new URL("./host.ts", import.meta.url)), {
    env: {
      ...process.env,
      ...described,
      SERVICE_APIS: "core,client",
      ...(separateFront && { BENCH_FRONT: "1" }),
      // The default on one core. The host counts the cores before it is pinned.
      ...(pin && { BENCH_LIMITS: JSON.stringify({ hashingThreads: 1 }) }),
      ...settings,
    },
    // The host's output is discarded.
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const ask = async <T>(command: Command): Promise<T> => {
    host.send(command);
    const [answer] = await once(host, "message");
    return answer as T;
  };
  const [{ url, frontPid }] = (await once(host, "message")) as [Started];
  if (pin) {
    const fronts = frontPid === undefined ? [] : [frontPid];
    pinTo({ first: host.pid ?? 0, others: [storage.pid, process.pid, ...fronts] });
  }
  const { send, close } = caller(url);

  const coreHeaders = { authorization: `Bearer ${tokens.core}` };
  const core = async (path: string, form: Readonly<Record<string, string>>) => {
    const { status, text } = await send(`/core${path}`, { method: "POST", headers: coreHeaders, form });
    if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`);
  };
  return {
    url,
    send,
    coreHeaders,
    storageCpuMs: () => cpuMsOf(storage.pid),
    user: async (username, prefix, kind = "hotp") => {
      await core("/users", { username, password });
      const secret = randomBytes(kind === "hotp" ? 20 : 16);
      const privateId = randomBytes(6);
      if (prefix !== undefined) {
        const id = kind === "hotp" ? {} : { private_id: privateId.toString("hex") };
        await core("/otpkeys", { prefix, kind, secret: secret.toString("hex"), ...id });
        await core(`/users/${username}/otpkeys`, { otpkey: prefix });
      }
      let counter = 0;
      const yubicoOtp = () => {
        const use = counter++;
        return yubicoCode(secret, { privateId, useCounter: 1 + Math.floor(use / 250), sessionCounter: use % 250 });
      };
      let wrong = 2 ** 40;
      return {
        username,
        otp: () => prefix + (kind === "hotp" ? hotpCode(secret, counter++) : yubicoOtp()),
        // Of a counter that no window reaches.
        wrongOtp: () => prefix + hotpCode(secret, wrong++),
      };
    },
    usage: () => ask("usage"),
    workerTimes: () => ask("workerTimes"),
    profiled: async (file, work) => {
      await ask("profile");
      const result = await work();
      await ask({ profileTo: file });
      return result;
    },
    hash: (hashMs, inFlight) => ask({ hashMs, inFlight }),
    pinOther: pid => {
      if (pin) pinTo({ others: [pid] });
    },
    stop: async () => {
      const exited = once(host, "exit");
      host.send("stop" satisfies Command);
      await exited;
      close();
      await closePeers(peers);
      await storage.close();
    },
  };
}

/** Returns the CPU time of a process on Linux, which counts in hundredths of a second. */
function cpuMsOf(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}

function pinTo({ first, others }: { first?: number; others: readonly number[] }): void {
  const last = cores - 1;
  if (last < 1) throw new Error("--pin needs two cores");
  const pin = (to: string, pid: number) => execFileSync("taskset", ["-a", "-c", "-p", to, String(pid)]);
  if (first !== undefined) pin("0", first);
  for (const pid of others) pin(`1-${last}`, pid);
}
