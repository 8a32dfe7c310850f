import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { compileCache } from "../support/host/compile-cache.ts";
import { hostArguments } from "../support/host/host-arguments.ts";
import type { Limits } from "../support/host/limits.ts";

/** A registered function as its host sees it. */
export interface Registered {
  readonly name: string;
  readonly bindings: readonly {
    readonly type: string;
    readonly route?: string;
    readonly methods?: readonly string[];
  }[];
}

/** The app started by a host, with nothing in its environment but what it was given. */
export interface MainProcess {
  readonly url: string;
  readonly masterKey: string;
  readonly pid: number | undefined;
  readonly functions: readonly Registered[];
  /** Ends it. Returns every line it has logged, parsed. */
  end(): Promise<Readonly<Record<string, unknown>>[]>;
}

/** The minimum settings of a connector. */
export const goodSettings: Readonly<Record<string, string>> = {
  SERVICE_APIS: "core,client,connector",
  CLOUD_TENANT_ID: "7f1c2d4e-5a6b-4c8d-9e0f-a1b2c3d4e5f6",
  CLOUD_TABLES_ENDPOINT: "https://tables.example",
  CLOUD_STORAGE_BLOB_ENDPOINT: "https://blobs.example",
  CLOUD_KEY_VAULT_ENDPOINT: "https://vault.example",
  EMAIL_API_SEND_ENDPOINT: "https://mail.example",
  EMAIL_SENDER_ADDRESS: "keys@example.com",
  DELIVERY_API_BASE_URL: "https://delivery.example",
  DELIVERY_JWKS_SIGN_ENDPOINT: "https://delivery.example/sign",
  DELIVERY_JWKS_TRANSPORT_ENDPOINT: "https://delivery.example/transport",
  IDPA_FIDO_API_CLIENT_ID: "5f0c7c56-6f1e-4c3c-9f51-2f8f2f3f9a10",
};

/** Starts it. Rejects, with what it wrote, where the app does not load. */
export async function startMain(settings: Readonly<Record<string, string>>, limits: Limits = {}): Promise<MainProcess> {
  const child = spawn(process.execPath, await hostArguments({ limits }), {
    env: { ...compileCache, ...settings },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const written = Promise.all([child.stdout, child.stderr].map(stream => (stream === null ? "" : text(stream))));
  const gone = once(child, "exit").then(async () => {
    throw new Error(`the app did not load:\n${(await written).join("\n")}`);
  });
  const [{ url, masterKey, functions }] = await Promise.race([once(child, "message"), gone]);
  gone.catch(() => {});
  return {
    url,
    masterKey,
    pid: child.pid,
    functions,
    end: async () => {
      child.disconnect();
      return (await written).flatMap(output =>
        output
          .split("\n")
          .filter(line => line.startsWith("{"))
          .map(line => JSON.parse(line)),
      );
    },
  };
}
