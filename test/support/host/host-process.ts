import { spawn } from "node:child_process";
import { once } from "node:events";
import { compileCache } from "./compile-cache.ts";
import { type ChildOptions, hostArguments } from "./host-arguments.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON; undefined where the body is empty. */
  readonly body: unknown;
}

/** A host as a process of its own, to be called over HTTP and to be sent signals. */
export interface HostProcess {
  readonly url: string;
  readonly pid: number;
  readonly masterKey: string;
  /** Resolves when the process is gone. */
  readonly exited: Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Ends it with SIGKILL, stopped or not. */
  kill(): Promise<void>;
  /** Calls it with the connector's token. Rejects where the host is gone before it has answered. */
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The end of what it wrote as errors. */
  errors(): string;
}

/**
 * Starts a host of a described system.
 * @param settings its whole environment
 */
export async function startHostProcess(
  token: string,
  settings: Readonly<Record<string, string>>,
  options: ChildOptions = {},
): Promise<HostProcess> {
  const child = spawn(process.execPath, await hostArguments(options), {
    env: { ...compileCache, ...settings },
    // The channel ends the host when this process is gone, whatever it died of.
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let errors = "";
  child.stderr?.on("data", (text: Buffer) => {
    errors = (errors + text.toString()).slice(-20_000);
  });
  const exited = once(child, "exit").then(() => {});
  const failed = exited.then(() => Promise.reject(new Error(`The host did not start:\n${errors}`)));
  const [{ url, masterKey }] = await Promise.race([once(child, "message"), failed]);
  failed.catch(() => {});

  return {
    url,
    pid: child.pid ?? 0,
    masterKey,
    exited,
    signal: signal => void child.kill(signal),
    kill: () => {
      child.kill("SIGKILL");
      return exited;
    },
    call: async (method, path, body, more = {}) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", ...more };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(url + path, { method, headers, ...sent });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === "" ? undefined : JSON.parse(text),
      };
    },
    errors: () => errors,
  };
}
