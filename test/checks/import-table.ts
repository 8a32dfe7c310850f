/** Files that belong together, and what they may import. A file belongs to the first zone whose folder contains it. */
export interface Zone {
  readonly name: string;
  /** Folder; a trailing `*.ts` means only the files directly in it, two stars the files with an ending at any depth. */
  readonly folder: string;
  /** Names of other zones. */
  readonly zones: readonly string[];
  /** Packages by name; `node:*` stands for every built-in module, `*` for every package. */
  readonly packages: readonly string[];
  /** Whether it runs in Azure. Deployed code gets clock, randomness and environment passed in. */
  readonly deployed: boolean;
}

const deployed = true;
const shared = "shared";

/** The allowed imports: two services on shared code that never import each other; deployed code imports only deployed code. */
export const importTable: readonly Zone[] = [
  {
    name: shared,
    folder: "lib/platform/*.ts",
    zones: [],
    packages: ["zod", "jose", "node:async_hooks", "node:crypto"],
    deployed,
  },
  { name: shared, folder: "lib/platform/settings", zones: [], packages: ["zod"], deployed },
  { name: "http", folder: "lib/platform/http", zones: [shared], packages: ["zod", "jose", "node:crypto"], deployed },
  ...["lib/connector/**/*.table.ts", "lib/connector/**/*.blob.ts"].map(folder => ({
    // The only files of the service that reach storage.
    name: "connector tables",
    folder,
    zones: [shared, "connector domain", "platform"],
    packages: ["zod", "node:crypto", "node:util"],
    deployed,
  })),
  {
    name: "connector domain",
    folder: "lib/connector",
    zones: [shared, "connector tables"],
    packages: ["zod", "jose", "cborg", "p-limit", "i18n-iso-countries", "yaml", "node:crypto", "node:util"],
    deployed,
  },
  {
    // The only files of the service that reach storage: each beside the operations that use it.
    name: "auth tables",
    folder: "lib/auth/**/*.table.ts",
    zones: [shared, "auth domain", "platform"],
    packages: ["zod", "node:crypto"],
    deployed,
  },
  {
    name: "auth domain",
    folder: "lib/auth",
    zones: [shared, "auth tables"],
    packages: [
      "zod",
      "jose",
      "otplib",
      "p-limit",
      "@node-rs/argon2",
      // Temporary codes are written in Base32.
      "@scure/base",
      "@zxcvbn-ts/language-common",
      // Hashes of other servers, in a thread of their own.
      "bcryptjs",
      "unixcrypt",
      "node:worker_threads",
      "node:crypto",
      "node:util",
      // Address ranges; nothing here opens a connection.
      "node:net",
    ],
    deployed,
  },
  {
    name: "platform",
    folder: "lib/platform",
    zones: [shared, "http"],
    packages: ["@azure/*", "@opentelemetry/*", "zod", "p-limit", "node:*"],
    deployed,
  },
  {
    name: "connector start",
    folder: "functions/connector/start",
    zones: [shared, "http", "connector domain", "platform", "connector tables", "connector edge", "composition"],
    packages: ["zod", "node:*"],
    deployed,
  },
  {
    name: "auth start",
    folder: "functions/auth/start",
    zones: [shared, "http", "auth domain", "platform", "auth tables", "auth edge", "composition"],
    packages: ["zod", "node:*"],
    deployed,
  },
  {
    name: "connector edge",
    folder: "functions/connector",
    zones: [shared, "http", "connector domain"],
    packages: ["zod"],
    deployed,
  },
  {
    name: "auth edge",
    folder: "functions/auth",
    zones: [shared, "http", "auth domain"],
    // Secrets arrive in Base32.
    packages: ["zod", "@scure/base"],
    deployed,
  },
  {
    name: "composition",
    folder: "functions/*.ts",
    zones: [
      shared,
      "http",
      "connector domain",
      "auth domain",
      "platform",
      "connector start",
      "auth start",
      "connector edge",
      "auth edge",
    ],
    packages: ["zod", "node:*"],
    deployed,
  },
  // Types only, which integrators copy.
  { name: "documents", folder: "docs/openapi", zones: [], packages: [], deployed: false },
  {
    name: "console",
    folder: "commands/console",
    zones: [shared, "auth domain", "connector domain", "commands", "documents"],
    packages: ["openapi-fetch", "preact", "htm", "i18n-iso-countries", "zod", "node:*"],
    deployed: false,
  },
  {
    name: "commands",
    folder: "commands",
    zones: [shared, "auth domain", "documents", "console"],
    // The last two read the key files that administrators import.
    packages: ["zod", "node:*", "openapi-fetch", "@azure/identity", "csv-parse", "fast-xml-parser"],
    deployed: false,
  },
  {
    name: "local",
    folder: "local",
    zones: [
      shared,
      "http",
      "connector domain",
      "auth domain",
      "platform",
      "connector tables",
      "auth tables",
      "connector start",
      "auth start",
      "connector edge",
      "auth edge",
      "composition",
      "commands",
      "console",
      "documents",
    ],
    packages: ["*"],
    deployed: false,
  },
  { name: "test", folder: "test", zones: ["*"], packages: ["*"], deployed: false },
  { name: "bench", folder: "bench", zones: ["*"], packages: ["*"], deployed: false },
];

/** The only deployed files that may read the environment, the clock and randomness. */
export const taking: Readonly<Record<"environment" | "clock" | "randomness", string>> = {
  environment: "functions/main.ts",
  clock: "functions/deployment.ts",
  randomness: "functions/deployment.ts",
};
