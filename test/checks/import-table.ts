/** Files that belong together, and all that they may import. A file belongs to the first zone whose folder holds it. */
export interface Zone {
  readonly name: string;
  /** Folder; a trailing `*.ts` means the files right in it. */
  readonly folder: string;
  /** Zones besides itself. */
  readonly zones: readonly string[];
  /** Packages by name; `node:*` stands for every built-in module, `*` for every package. */
  readonly packages: readonly string[];
  /** Runs in Azure: no clock, randomness or environment of its own (decision G9, G14). */
  readonly deployed: boolean;
}

const deployed = true;
const ground = "ground";

/** Which way imports go: two wings over one ground floor, nothing deployed knows what is not. */
export const importTable: readonly Zone[] = [
  {
    name: ground,
    folder: "lib/*.ts",
    zones: [],
    packages: ["zod", "jose", "node:async_hooks", "node:crypto"],
    deployed,
  },
  { name: "http", folder: "lib/http", zones: [ground], packages: ["zod", "jose", "node:crypto"], deployed },
  {
    name: "connector domain",
    folder: "lib/connector",
    zones: [ground],
    packages: ["zod", "jose", "cborg", "p-limit", "i18n-iso-countries", "yaml", "node:crypto"],
    deployed,
  },
  {
    name: "auth domain",
    folder: "lib/auth",
    zones: [ground],
    packages: [
      "zod",
      "jose",
      "otplib",
      "p-limit",
      "@node-rs/argon2",
      "@zxcvbn-ts/language-common",
      "node:crypto",
      // Address ranges; nothing here opens a connection.
      "node:net",
    ],
    deployed,
  },
  {
    name: "azure of the connector",
    folder: "lib/azure/connector",
    zones: [ground, "http", "connector domain", "azure"],
    packages: ["@azure/*", "zod", "node:*"],
    deployed,
  },
  {
    name: "azure of the authentication server",
    folder: "lib/azure/auth",
    zones: [ground, "http", "auth domain", "azure"],
    packages: ["@azure/*", "zod", "node:*"],
    deployed,
  },
  {
    name: "azure",
    folder: "lib/azure",
    zones: [ground, "http", "connector domain"],
    packages: ["@azure/*", "@opentelemetry/*", "zod", "node:*"],
    deployed,
  },
  {
    name: "connector start",
    folder: "functions/connector/start",
    zones: [ground, "http", "connector domain", "azure", "azure of the connector", "connector edge", "composition"],
    packages: ["zod", "node:*"],
    deployed,
  },
  {
    name: "auth start",
    folder: "functions/auth/start",
    zones: [ground, "http", "auth domain", "azure", "azure of the authentication server", "auth edge", "composition"],
    packages: ["zod", "node:*"],
    deployed,
  },
  {
    name: "connector edge",
    folder: "functions/connector",
    zones: [ground, "http", "connector domain"],
    packages: ["zod"],
    deployed,
  },
  {
    name: "auth edge",
    folder: "functions/auth",
    zones: [ground, "http", "auth domain"],
    // Secrets arrive in Base32.
    packages: ["zod", "@scure/base"],
    deployed,
  },
  {
    name: "composition",
    folder: "functions/*.ts",
    zones: [
      ground,
      "http",
      "connector domain",
      "auth domain",
      "azure",
      "connector start",
      "auth start",
      "connector edge",
      "auth edge",
    ],
    packages: ["zod", "node:*"],
    deployed,
  },
  {
    name: "commands",
    folder: "commands",
    zones: [ground, "auth domain"],
    // The last two read the key files that administrators import.
    packages: ["zod", "node:*", "csv-parse", "fast-xml-parser"],
    deployed: false,
  },
  {
    name: "local",
    folder: "local",
    zones: [
      ground,
      "http",
      "connector domain",
      "auth domain",
      "azure",
      "azure of the connector",
      "azure of the authentication server",
      "connector start",
      "auth start",
      "connector edge",
      "auth edge",
      "composition",
    ],
    packages: ["*"],
    deployed: false,
  },
  { name: "test", folder: "test", zones: ["*"], packages: ["*"], deployed: false },
  { name: "bench", folder: "bench", zones: ["*"], packages: ["*"], deployed: false },
];

/** Where the outside world comes in: one file reads the environment, one takes clock and randomness. */
export const taking: Readonly<Record<"environment" | "clock" | "randomness", string>> = {
  environment: "functions/main.ts",
  clock: "functions/deployment.ts",
  randomness: "functions/deployment.ts",
};
