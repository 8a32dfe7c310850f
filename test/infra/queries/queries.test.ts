import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { authJobs } from "../../../functions/auth/start/auth-service.ts";
import { connectorJobs } from "../../../functions/connector/jobs.ts";
import { backUpJobs } from "../../../functions/maintenance.ts";
import { authBackedUp } from "../../../lib/auth/restore.table.ts";
import { idpName } from "../../../lib/connector/model/peer-names.ts";
import { grantByClientCredentials } from "../../../lib/connector/peers/grant.ts";
import { connectorBackedUp } from "../../../lib/connector/storage/restore.table.ts";
import { inTrace, type Labels, metrics } from "../../../lib/platform/telemetry.ts";
import { readAllSettings } from "../../../local/deploy/read-all-settings.ts";
import { testTools } from "../../support/connector/peer-tools.ts";
import { valueAt } from "../json.ts";
import { type Deployment, deployed, ofType, settingsOnceDeployed } from "../templates.ts";
import { openKusto } from "./kusto.ts";
import { askedBy, queries } from "./queries.ts";

/** Names of log events, as the code has them: texts in the first argument of a log's method, or of a function that calls one. */
const events = new Set(
  globSync("{lib,functions}/**/*.ts").flatMap(path =>
    [
      ...readFileSync(path, "utf8").matchAll(
        /\b(?:log(?:\.(?:debug|info|warn|error)|\[[^\]]*\])|warnOnError)\(([^,)]*)/g,
      ),
    ].flatMap(([, first = ""]) => [...first.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name)),
  ),
);
/** Those of them that are logged as errors. */
const errors = new Set(
  globSync("{lib,functions}/**/*.ts").flatMap(path =>
    [
      ...readFileSync(path, "utf8").matchAll(
        /\b(?:log(?:\.error|\[[^\]]*"error"[^\]]*\])\(\s*|writeLine\("error", JSON\.stringify\(\{ event: )"([^"]+)"/g,
      ),
    ].map(([, name = ""]) => name),
  ),
);

/** Errors that raise no alert, each with the reason. */
const withoutAlert: Readonly<Record<string, string>> = {
  telemetry_lost: "an outage of telemetry itself, of which the exporter repeats what it can",
};

const described = readFileSync("docs/telemetry.md", "utf8");

describe("the queries of alerts and workbook", () => {
  it("are found", () => {
    expect(queries().size).toBeGreaterThan(25);
    expect(events.size).toBeGreaterThan(40);
  });

  it("are queries for Kusto itself", () => {
    const faults = openKusto();
    expect(faults('traces | where mesage == "x" | sumarize count()').length).toBeGreaterThan(1);
    expect(faults("customMetrics | summarize last = max(timestamp)")).not.toEqual([]);
    for (const [place, query] of queries())
      expect(faults(query.replaceAll("{TimeRange:grain}", "1h")), place).toEqual([]);
  });

  it("ask for events that the code logs", () => {
    for (const [place, query] of queries()) {
      for (const event of askedBy(query).events) expect([...events], place).toContain(event);
    }
  });

  it("can ask for every event that the code logs, because docs/telemetry.md names it", () => {
    const named = new Set([...described.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
    expect([...events].filter(name => !named.has(name))).toEqual([]);
  });

  it("ask for metrics that the code measures", () => {
    for (const [place, query] of queries()) {
      for (const metric of askedBy(query).metrics) expect(Object.keys(metrics), place).toContain(metric);
    }
  });

  it("ask for fields and values that docs/telemetry.md names", () => {
    for (const [place, query] of queries()) {
      const { fields, values } = askedBy(query);
      for (const name of [...fields, ...values]) {
        if (name !== "IdP ") expect(described, place).toMatch(new RegExp(`\\b${name}\\b`));
      }
    }
  });

  it("each ask for something by a name of ours, or at the platform's own door", () => {
    for (const [place, query] of queries()) {
      const { events: asked, metrics: measured } = askedBy(query);
      const platform = /^(requests|AzureDiagnostics|_LogOperation)\b/.test(query);
      expect(asked.length + measured.length > 0 || platform, place).toBe(true);
    }
  });

  it("count the calls for which a recorded one stands, where the host may record a share of them", () => {
    const ofRequests = [...queries()].filter(([, query]) => query.startsWith("requests"));
    expect(ofRequests).not.toEqual([]);
    for (const [place, query] of ofRequests) {
      expect(query, place).toContain("sum(itemCount)");
      expect(query, place).not.toContain("count()");
    }
  });

  it("of all alerts together query every error that the code logs, unless a reason is given here, and what only metrics show", () => {
    const all = [...queries()].filter(([place]) => !place.startsWith("workbook")).map(([, query]) => askedBy(query));
    const alerted = new Set(all.flatMap(each => each.events));
    expect(errors.size).toBeGreaterThan(20);
    expect([...errors].filter(name => !alerted.has(name)).sort()).toEqual(Object.keys(withoutAlert).sort());
    expect(all.flatMap(each => each.metrics)).toEqual(
      expect.arrayContaining(["pin_mail.unsent.age", "peer.call.duration", "secret.days_left"]),
    );
  });

  it("raise an alert by a single error of a row, a request or a task, which comes once, and by several of calls", () => {
    const thresholds = new Map(
      ofType(deployed(), "Microsoft.Insights/scheduledQueryRules").flatMap(({ body }) => {
        const criterion = valueAt(body.properties, "criteria.allOf.0");
        return askedBy(String(valueAt(criterion, "query"))).events.map(
          event => [event, [valueAt(criterion, "threshold"), valueAt(criterion, "dimensions.0.name")]] as const,
        );
      }),
    );
    const once = ["row_failed", "work_failed", "task_failed", "reseal_failed", "sealed_value_unreadable"];
    for (const event of [...once, "secret_missing", "abort_failed", "reconcile_not_scheduled"])
      expect(thresholds.get(event), event).toEqual([0, "event"]);
    for (const event of ["failed", "event_sink_failed"]) expect(thresholds.get(event), event).toEqual([5, "event"]);
  });

  it("of the workbook draw every failure of a row, a request, a task or a secret that raises an alert", () => {
    const [, alert = ""] = [...queries()].find(([place]) => place.endsWith("-failed-item")) ?? [];
    const drawn = askedBy(queries().get("workbook: Failures") ?? "").events;
    expect(askedBy(alert).events.length).toBeGreaterThan(5);
    expect(drawn).toEqual(expect.arrayContaining([...askedBy(alert).events]));
  });
});

describe("alerts", () => {
  const rulesOf = (deployment: Deployment) => ofType(deployment, "Microsoft.Insights/scheduledQueryRules");
  const rules = rulesOf(deployed("options"));
  const queryOf = (id: string) => {
    const rule = rules.find(({ name }) => name.endsWith(`-${id}`));
    return String(valueAt(rule?.body.properties, "criteria.allOf.0.query"));
  };
  const minutes = (duration: unknown): number => {
    const [, days, hours, rest] = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?$/.exec(String(duration)) ?? [];
    return Number(days ?? 0) * 1440 + Number(hours ?? 0) * 60 + Number(rest ?? 0);
  };

  it.each([
    ["without a sink of events", "base"],
    ["with a removed sink only", "connector-proxy"],
    ["with a sink", "options"],
    ["without backups", "other-mail-domain"],
  ] as const)("watch the timer of every job %s", (_, name) => {
    const deployment = deployed(name);
    const [first, second] = (["client", "connector"] as const).map(api =>
      readAllSettings(settingsOnceDeployed(deployment, api)),
    );
    if (first?.auth === undefined || second?.connector === undefined) throw new Error("settings are missing");
    const jobs = [
      ...Object.keys(authJobs(first.auth)),
      ...Object.keys(connectorJobs(second.connector.settings)),
      ...Object.keys(backUpJobs(authBackedUp, first.deployment)),
      ...Object.keys(backUpJobs(connectorBackedUp, second.deployment)),
    ];
    const watched = rulesOf(deployment).flatMap(({ name, body }) => {
      if (!name.includes("job-not-run") || valueAt(body.properties, "enabled") !== true) return [];
      return askedBy(String(valueAt(body.properties, "criteria.allOf.0.query"))).values.filter(
        value => value !== "timer",
      );
    });
    expect(watched.sort()).toEqual(jobs.sort());
  });

  it("expect a job only of an app that has been running for that long, so that none is raised on the first day", () => {
    const jobRules = rules.filter(({ name }) => name.includes("job-not-run"));
    const apps = ofType(deployed(), "Microsoft.Web/sites").map(({ name }) => name);
    expect(jobRules).toHaveLength(7);
    for (const { name, body } of jobRules) {
      const query = String(valueAt(body.properties, "criteria.allOf.0.query"));
      const [, app = ""] = /cloud_RoleName =~ "([^"]+)"/.exec(query) ?? [];
      expect(apps, name).toContain(app);
      const [, within] = /countif\(timestamp > ago\((\d+[hd])\)/.exec(query) ?? [];
      expect(query).toContain(`earlier = countif(timestamp < ago(${within})) | where earlier > 0`);
      expect(body.properties, name).toMatchObject({
        // It must see further back than the time within which the job must have run.
        overrideQueryTimeRange: "P2D",
        autoMitigate: false,
        muteActionsDuration: "P1D",
      });
    }
  });

  it("expect each job of the app that runs it", () => {
    const appOf = (job: string) => {
      const rule = rules.find(({ name }) => name.endsWith(`job-not-run-${job.toLowerCase()}`));
      return /"func-(\w+)-/.exec(String(valueAt(rule?.body.properties, "criteria.allOf.0.query")))?.[1];
    };
    expect(["sessionCleanup", "scheduledAuthBackUp", "processShipments"].map(appOf)).toEqual([
      "client",
      "core",
      "connector",
    ]);
  });

  it("look as often and as far back as Azure allows", () => {
    const windows = [
      "PT5M",
      "PT10M",
      "PT15M",
      "PT30M",
      "PT45M",
      "PT1H",
      "PT2H",
      "PT3H",
      "PT4H",
      "PT5H",
      "PT6H",
      "P1D",
      "P2D",
    ];
    for (const { name, body } of rules) {
      const { evaluationFrequency, windowSize } = body.properties as Readonly<Record<string, string>>;
      expect(windows, name).toContain(windowSize);
      expect(windows.slice(0, -1), name).toContain(evaluationFrequency);
      expect(minutes(windowSize), name).toBeGreaterThanOrEqual(minutes(evaluationFrequency));
    }
  });

  it("measure a column that their query makes, and split by one", () => {
    for (const { name, body } of rules) {
      const criterion = valueAt(body.properties, "criteria.allOf.0");
      const [, made = "", by = ""] = /summarize (.*?)(?: by (.*))?$/.exec(String(valueAt(criterion, "query"))) ?? [];
      expect(made, name).toMatch(new RegExp(`^${valueAt(criterion, "metricMeasureColumn")} = `));
      const dimension = valueAt(criterion, "dimensions.0.name");
      if (dimension === undefined) expect(by, name).toBe("");
      else expect(by, name).toMatch(new RegExp(`^${dimension} = `));
    }
  });

  it.each([
    ["status 400", "expired", 400],
    ["status 401", "expired", 401],
    ["status 403", "expired", 403],
    ["status 404", "expired", 404],
    ["a private key that cannot be used", "-----BEGIN PRIVATE KEY-----", 200],
  ])("name an identity provider that gives the connector no token: %s", async (_, secret, status) => {
    const measured: Labels[] = [];
    const sink = {
      span: () => {},
      measure: (...[, , labels]: [unknown, unknown, Labels]) => void measured.push(labels),
    };
    const tracer = { sink, now: () => 0, random: (bytes: number) => new Uint8Array(bytes).fill(1) };
    const refuse = async () => Response.json({ error: "invalid_client" }, { status });
    const access = { ...testTools(), fetch: refuse, peer: idpName("corp"), timeLimitMs: 1000 };
    const client = {
      tokenUrl: "https://idp.example.com/token",
      clientId: "connector",
      secret: async () => secret,
    };
    const grant = inTrace(tracer, { name: "call", labels: {} }, () => grantByClientCredentials(access, client));
    await expect(grant).rejects.toThrow();
    const [labels] = measured;
    const query = queryOf("idp-token");
    const [, operation] = /operation\) == ("[^"]*")/.exec(query) ?? [];
    const [, outcomes] = /outcome\) in \(([^)]*)\)/.exec(query) ?? [];
    expect(operation).toBe(`"${labels?.operation}"`);
    expect(outcomes).toContain(`"${labels?.outcome}"`);
    expect(labels?.peer).toMatch(/^IdP /);
  });

  it("report that the workspace has reached its daily cap, because the other log alerts see nothing from then on", () => {
    const [workspace] = ofType(deployed(), "Microsoft.OperationalInsights/workspaces");
    const rule = rules.find(({ name }) => name.endsWith("-telemetry-stopped"));
    expect(valueAt(rule?.body.properties, "scopes")).toEqual([workspace?.id]);
    expect(queryOf("telemetry-stopped")).toMatch(/^_LogOperation \| .*"OverQuota"/);
  });

  it("ask a workspace that others use too about the vaults of the deployment only", () => {
    const ofVaults = [...queries().values()].filter(query => query.startsWith("AzureDiagnostics"));
    const vaults = ofType(deployed(), "Microsoft.KeyVault/vaults").map(({ name }) => `"${name}"`);
    expect(ofVaults).not.toEqual([]);
    for (const query of ofVaults) expect(query).toContain(`Resource in~ (${vaults.join(", ")})`);
  });

  it("are mailed to every named recipient", () => {
    const [group] = ofType(deployed("options"), "Microsoft.Insights/actionGroups");
    const addresses = valueAt(group?.body.properties, "emailReceivers") as readonly { emailAddress: string }[];
    expect(addresses.map(({ emailAddress }) => emailAddress)).toEqual(["a@example.com", "b@example.com"]);
    for (const { body } of rules) expect(valueAt(body.properties, "actions.actionGroups.0")).toBe(group?.id);
  });
});

describe("the workbook", () => {
  it("is put beside the component that it asks", () => {
    const [workbook] = ofType(deployed(), "Microsoft.Insights/workbooks");
    const data = String(valueAt(workbook?.body.properties, "serializedData"));
    expect(data).not.toContain("__COMPONENT__");
    expect(JSON.parse(data).fallbackResourceIds).toEqual([valueAt(workbook?.body.properties, "sourceId")]);
    expect(data.length).toBeLessThan(131_072);
  });
});
