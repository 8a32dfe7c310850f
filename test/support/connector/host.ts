import { readFileSync } from "node:fs";
import { afterAll, beforeAll } from "vitest";
import { start } from "../../../functions/start.ts";
import { type LocalHost, startHost } from "../../../local/host/host.ts";
import type { Peers } from "../../../local/peers/all.ts";
import { createStores } from "../../../local/start/system.ts";
import { localTokens, type Tokens } from "../../../local/start/tokens.ts";
import type { Body } from "../../lib/connector/api/bodies.ts";
import { functionsCoreOfFile } from "../host/functions-core-of-file.ts";
import { type FreshStorage, freshStorage, patientLimits } from "../storage/fresh-storage.ts";
import { environmentOf } from "./test-connector.ts";

interface CallAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** The connector behind a host in this process, for one test file. */
export interface ConnectorHost {
  readonly storage: FreshStorage;
  readonly url: string;
  readonly tokens: Tokens;
  /** Of the host, for maintenance. */
  readonly masterKey: string;
  /**
   * @param route `GET /v2/status`
   * @param options a body of text or bytes is sent as it is; without a token: the connector's static one, with "": none
   */
  call(
    route: string,
    options?: { readonly body?: unknown; readonly token?: string; readonly headers?: Record<string, string> },
  ): Promise<CallAnswer>;
}

/** Starts the host before the tests of a file and ends it after them. */
export function connectorHostOfFile(peers: Peers, settings: Readonly<Record<string, string>> = {}): ConnectorHost {
  const storage = freshStorage();
  const core = functionsCoreOfFile();
  let host: LocalHost;
  let tokens: Tokens;
  beforeAll(async () => {
    await createStores(storage.connectionString);
    tokens = localTokens(peers.vault);
    const env = { ...environmentOf(peers, storage), LOGGING_LEVEL_COM_SERVICE: "ERROR", ...settings };
    await start(env, patientLimits);
    const hostJson = JSON.parse(readFileSync("host.json", "utf8"));
    host = await startHost(core, { port: 0, hostJson, timers: false, env });
  });
  afterAll(() => host.stop());
  return {
    storage,
    get url() {
      return host.url;
    },
    get tokens() {
      return tokens;
    },
    get masterKey() {
      return host.masterKey;
    },
    call: async (route, { body, token = tokens.connector, headers = {} } = {}) => {
      const [method = "", path = ""] = route.split(" ");
      const isText = typeof body === "string" || body instanceof Uint8Array;
      const response = await fetch(host.url + path, {
        method,
        headers: {
          ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isText ? (body as string) : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
    },
  };
}
