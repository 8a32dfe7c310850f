import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { client, core } from "../../functions/auth/routes.ts";
import { authTasks } from "../../functions/auth/start/maintenance-tasks.ts";
import { connectorJobs } from "../../functions/connector/jobs.ts";
import { connector } from "../../functions/connector/routes.ts";
import { connectorTasks } from "../../functions/connector/start/maintenance-tasks.ts";
import { backUpJobs } from "../../functions/maintenance.ts";
import { authBackedUp } from "../../lib/auth/restore.table.ts";
import { connectorSettings } from "../../lib/connector/settings.ts";
import { connectorBackedUp } from "../../lib/connector/storage/restore.table.ts";
import type { Blobs } from "../../lib/platform/azure/blobs.ts";
import { httpFunctions } from "../../lib/platform/http/api.ts";
import { taskTemplate } from "../../lib/platform/http/task.ts";
import { backupsOf } from "../../lib/platform/maintenance/read-backup.ts";
import { readSettings } from "../../lib/platform/settings/read-settings.ts";
import { readAllSettings } from "../../local/deploy/read-all-settings.ts";
import { openKusto } from "../infra/queries/kusto.ts";
import { askedBy } from "../infra/queries/queries.ts";
import { deployed, outline, settingsOnceDeployed } from "../infra/templates.ts";

const runbooks = readFileSync("docs/operate.md", "utf8");
const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = ""]) => found);

const tasks = [
  ...Object.keys(authTasks).map(name => ["auth", name] as const),
  ...Object.keys(connectorTasks).map(name => ["connector", name] as const),
];

/** Every route as `POST /core/users`, with `{}` for each parameter. */
const routes = [
  ...[...httpFunctions(core, "core"), ...httpFunctions(client, "client"), ...httpFunctions(connector, "")].flatMap(
    ({ template, methods }) => methods.map(method => `${method} /${template}`),
  ),
  ...tasks.map(([service, name]) => `POST /${taskTemplate(service, name)}`),
].map(route => route.replace(/\{[^}]*\}/g, "{}"));

describe("docs/operate.md", () => {
  it("names calls that are there", () => {
    const named = [
      ...matches(runbooks, /`((?:GET|POST|DELETE) \$(?:CORE|CONNECTOR)\/[^`\s]*)`/g),
      ...matches(runbooks, /curl -X (POST \$(?:CORE|CONNECTOR)\/\S+)/g),
    ].map(call =>
      call
        .replace(/\$(CORE|CONNECTOR)/, "")
        .replace(/\?.*$/, "")
        .replace(/\{[^}]*\}/g, "{}"),
    );
    expect(named.length).toBeGreaterThan(12);
    expect(named.filter(call => !routes.includes(call))).toEqual([]);
  });

  it("lists every maintenance task with its function", () => {
    for (const [service, name] of tasks) {
      expect(runbooks).toContain(`\`/${taskTemplate(service, name)}\``);
      expect(runbooks).toContain(`\`${service}${name.charAt(0).toUpperCase()}${name.slice(1)}\``);
    }
  });

  it("has a line for every reason for which a sign-in is refused", () => {
    const policy = readFileSync("lib/auth/sign-in/check-factors.ts", "utf8");
    const verdict = readFileSync("lib/auth/sign-in/verdict.ts", "utf8");
    const union = (source: string, declared: RegExp) => matches(declared.exec(source)?.[1] ?? "", /"(\w+)"/g);
    const signIn = readFileSync("lib/auth/sign-in/sign-in.ts", "utf8");
    const reasons = [...union(policy, /type SignInRefusal =\s+([^;]+);/), ...union(signIn, /refusal \?\? ("\w+")/)];
    const outcomes = [...union(verdict, /outcome:\s+([^;]+);/), ...union(verdict, /type InactiveReason = ([^;]+);/)];
    expect([reasons.length, outcomes.length]).toEqual([9, 11]);
    const inTable = (name: string) => new RegExp(`^\\|[^|]*\`${name}\``, "m").test(runbooks);
    for (const name of [
      ...reasons,
      "throttled",
      "unauthenticated",
      "unavailable",
      "internal",
      ...outcomes,
      "unknown_key",
    ])
      expect(inTable(name), name).toBe(true);
  });

  it("has a line of rotation for every secret that the code reads", () => {
    const sources = ["auth/start/open-context", "connector/start/open-context", "deployment"].map(name =>
      readFileSync(`functions/${name}.ts`, "utf8"),
    );
    const secrets = sources.flatMap(source => [
      ...matches(source, /secretText\("([^"]+)"\)/g),
      ...matches(source, /keyRing\(\w+, "([^"]+)"/g),
      ...matches(source, /dataKey = "([^"]+)"/g),
    ]);
    expect(secrets.length).toBe(5);
    for (const name of [...secrets, "core-api-tokens", "connector-api-tokens", "idp-<id>-client-secret"])
      expect(runbooks).toMatch(new RegExp(`^\\|[^|]*\`${name}\`[^|]*\\|`, "m"));
  });

  it("asks what a caller did by a query for Kusto itself, and by fields that docs/telemetry.md names", () => {
    const faults = openKusto();
    const described = readFileSync("docs/telemetry.md", "utf8");
    const queries = matches(runbooks, /```kusto\n([\s\S]*?)```/g);
    expect(queries).toHaveLength(1);
    for (const query of queries) {
      expect(faults(query)).toEqual([]);
      const { fields } = askedBy(query);
      expect(fields).toEqual(expect.arrayContaining(["application", "subject", "route", "status", "requestId"]));
      for (const name of fields) expect(described).toContain(`\`${name}\``);
    }
  });

  it("names outputs of the template in angle brackets, and parameters of the templates that it deploys", () => {
    const names = matches(runbooks, /<([A-Z][A-Z_]+)>/g);
    expect(names).toEqual(expect.arrayContaining(["CORE_PRINCIPAL_ID", "CONNECTOR_PRINCIPAL_ID"]));
    expect(names.filter(name => !(name in deployed().outputs))).toEqual([]);
    for (const [, path = "", parameters = ""] of runbooks.matchAll(
      /--template-file infra\/(\S+) \\\n +--parameters ((?:.*\\\n)*.*)/g,
    )) {
      const declared = Object.entries(outline).flatMap(([name, each]) =>
        name === path ? Object.keys(each.parameters) : [],
      );
      expect(matches(parameters, /(\w+)=/g).sort()).toEqual(declared.sort());
    }
  });

  it("keeps the backups of each service below the path that the role on a second storage account admits", async () => {
    const prefixes: string[] = [];
    const list = async function* (container: string, prefix: string) {
      prefixes.push(`${container}/${prefix}`);
      yield* [];
    };
    for (const service of ["auth", "connector"] as const) await backupsOf({ list } as unknown as Blobs, service);
    const paths = matches(readFileSync("infra/backup-role.bicep", "utf8"), /path: '([^']+)'/g);
    expect(prefixes).toEqual(paths.map(path => `backups/${path}`));
  });

  it("names every audit event of a revocation that a restore takes back", () => {
    const [, section = ""] = runbooks.split("### What a restore brings back");
    const [users = ""] = section.split("*OTPs that could be replayed*");
    expect(matches(users, /`((?:otpkey|user|password)_\w+)`/g).sort()).toEqual(
      [
        // A temporary code disables its OTP key without an event `otpkey_disabled`.
        "otpkey_temporary_code_issued",
        "otpkey_disabled",
        "otpkey_secret_replaced",
        "otpkey_validity_set",
        "otpkey_unassigned",
        "otpkey_deleted",
        "password_changed",
        "password_code_issued",
        "password_reset",
        "user_deleted",
        "user_disabled",
        // These name the user of an event without an id.
        "user_created",
        "user_renamed",
      ].sort(),
    );
  });

  it("stops before a restore every timer of the app that restores, backups included, and closes it to callers", () => {
    const address = "https://sample.example.com";
    const settings = readSettings(connectorSettings, {
      EMAIL_API_SEND_ENDPOINT: address,
      EMAIL_SENDER_ADDRESS: "keys@example.com",
      DELIVERY_API_BASE_URL: address,
      DELIVERY_JWKS_SIGN_ENDPOINT: address,
      DELIVERY_JWKS_TRANSPORT_ENDPOINT: address,
      EVENT_SINK_URLS: address,
    });
    const { deployment } = readAllSettings(settingsOnceDeployed(deployed(), "core"));
    const commands = matches(runbooks, /(az functionapp config appsettings set [\s\S]*?)\n *```/g);
    const stops = Object.fromEntries(
      commands.map(text => [
        /--name <(\w+)>/.exec(text)?.[1],
        matches(text, /AzureWebJobs\.(\w+)\.Disabled=true/g).sort(),
      ]),
    );
    expect(stops).toEqual({
      CORE_APP_NAME: Object.keys(backUpJobs(authBackedUp, deployment)),
      CONNECTOR_APP_NAME: [
        ...Object.keys(connectorJobs(settings)),
        ...Object.keys(backUpJobs(connectorBackedUp, deployment)),
      ].sort(),
    });
    for (const text of commands) expect(text).toContain("--settings CALLER_AUDIENCES= CALLER_STATIC_TOKENS=false ");
  });
});
