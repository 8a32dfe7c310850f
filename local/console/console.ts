// Development tool, not for production: the console of the local system (commands/console), with what only a simulation has.
import { dirname, join } from "node:path";
import { serveConsole } from "../../commands/console/server.ts";
import type { Tokens } from "../start/tokens.ts";
import { type ApiHost, consoleApi } from "./api.ts";
import { openReference } from "./reference/reference.ts";
import { createSoftwareKeys } from "./software-keys/software-keys.ts";

/** The console of the local system. */
export interface Console {
  /** `http://127.0.0.1:<port>`, no slash at the end. */
  readonly url: string;
  /** Sets the address of the host, and its master key and timers if it runs in this process. */
  hostIs(url: string, own?: Omit<ApiHost, "address">): void;
  /** Adds a line of the host's log to the timeline. */
  addLine(line: string): void;
  close(): Promise<void>;
}

export interface ConsoleOptions {
  readonly connectionString: string;
  readonly tokens: Tokens;
  /** Addresses of the simulated peers by name. */
  readonly peers: Readonly<Record<string, string>>;
  /** A free one if 0 or absent. */
  readonly port?: number;
  /** File of the software keys; the timeline is in the same directory. In memory if absent. */
  readonly statePath?: string | undefined;
}

/** Serves the console on 127.0.0.1. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  let host: ApiHost | undefined;
  const { statePath, port = 0 } = options;
  const keys = createSoftwareKeys(statePath);
  const timelinePath = statePath && join(dirname(statePath), "timeline.json");
  const reference = openReference({ ...options, host: () => host });
  const api = consoleApi({ ...options, keys, timelinePath, host: () => host });
  const server = await serveConsole({
    port,
    answer: async (call, gone) => (await reference(call, gone)) ?? (await api.answer(call, gone)),
  });
  return {
    url: server.url,
    hostIs: (address, own = {}) => {
      host = { address, ...own };
    },
    addLine: api.addLine,
    close: async () => {
      api.close();
      await server.close();
    },
  };
}
