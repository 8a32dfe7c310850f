import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { existingNetworkId, existingResources } from "./azd/existing-resources.ts";
import type { Deployed } from "./bicep/deploy.ts";
import { valueAt } from "./isolation.ts";
import { deployed, ofType, planted, sample, templates } from "./templates.ts";

/** What one set of parameters creates and another does not: azd deploys incrementally, so it stays. */
function leftBy(before: object, after: object, files = templates): readonly Deployed[] {
  const created = (given: object) =>
    deployed({ ...sample, ...given }, { files }).resources.filter(({ existing }) => !existing);
  const kept = new Set(created(after).map(({ id }) => id.toLowerCase()));
  return created(before).filter(({ id }) => !kept.has(id.toLowerCase()));
}

const connectorSettings = (more: object) => ({ connectorSettings: { ...sample.connectorSettings, ...more } });
const withSink = connectorSettings({ EVENT_SINK_URLS: "https://itsm.example.com" });
const withoutBackups = { everyAppSettings: { CRON_BACKUP_SCHEDULE: "none" } };
const proxied = { clientProxyId: "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a", connectorProxyId: "9b1d" };
const tested = { availabilityTests: true };

describe("an option that is switched off", () => {
  it.each([
    ["backups", {}, withoutBackups],
    ["event sinks", withSink, {}],
    ["availability tests", tested, {}],
    ["availability tests, by a proxy", tested, { ...tested, ...proxied }],
    ["an address range that deploys Core", { coreDeployRange: "203.0.113.7/32" }, {}],
    ["an address range of operators", { operatorRange: "10.90.1.0/27" }, {}],
    ["a proxy", proxied, {}],
    ["recipients of alerts", { alertMailTo: "a@example.com" }, {}],
    ["a trial, which becomes a stage", { trial: true }, {}],
  ])("leaves no resource that the template no longer resets: %s", (_, before, after) => {
    expect(leftBy(before, after)).toEqual([]);
  });

  it("leaves a role on a locked vault, which Azure deletes only after the lock, as docs/deploy.md says", () => {
    const locked = { resourceLocks: true };
    const left = leftBy({ ...locked, everyAppSettings: { CALLER_STATIC_TOKENS: "true" } }, locked);
    const locks = ofType(deployed({ ...sample, ...locked }), "Microsoft.Authorization/locks");
    const lockedIds = locks.map(({ id }) => id.split("/providers/Microsoft.Authorization/")[0] ?? "");
    const roles = left.filter(({ type }) => type.endsWith("/roleAssignments"));
    expect(roles).toHaveLength(2);
    for (const { id } of roles) expect(lockedIds.some(each => id.startsWith(`${each}/`))).toBe(true);
    const [, section = ""] = readFileSync("docs/deploy.md", "utf8").split("\n### What a former option leaves\n");
    const [beforeRoles = ""] = section.split("az role assignment delete");
    expect(beforeRoles).toContain("delete the locks first");
  });

  it("is seen to leave a resource that only it creates", () => {
    const files = planted(
      "modules/alerts.bicep",
      "concat(hourlyJobs, backupJobs)",
      "filter(hourlyJobs, job => job.runs)",
    );
    expect(leftBy(withSink, {}, files).map(({ name }) => name)).toEqual([
      expect.stringMatching(/job-not-run-sendevents$/),
    ]);
  });

  it("disables what it leaves in place: its job rules, and its availability tests with their alerts", () => {
    const states = (given: object) => {
      const deployment = deployed({ ...sample, ...given });
      return [
        "Microsoft.Insights/scheduledQueryRules",
        "Microsoft.Insights/webtests",
        "Microsoft.Insights/metricAlerts",
      ].flatMap(type =>
        ofType(deployment, type).flatMap(({ name, body }) => {
          const isEnabled = valueAt(body.properties, "enabled") ?? valueAt(body.properties, "Enabled");
          return isEnabled === true ? [] : [name.replace(/-[a-z0-9]{13}(?=$|-)/, "")];
        }),
      );
    };
    const tests = ["health-client", "health-connector", "health-client-down", "health-connector-down"];
    expect(states({ ...withSink, ...tested })).toEqual([]);
    expect(states({ ...withSink, ...tested, ...withoutBackups })).toEqual([
      "alert-job-not-run-scheduledauthbackup",
      "alert-job-not-run-scheduledconnectorbackup",
    ]);
    expect(states(tested)).toEqual(["alert-job-not-run-sendevents"]);
    expect(states(withSink)).toEqual(tests);
    expect(states({ ...withSink, ...tested, ...proxied })).toEqual(tests);
  });

  const network = ["networkSecurityGroups", "virtualNetworks", "subnets"];
  const zones = ["privateDnsZones", "virtualNetworkLinks"];
  const { existingSubnetIds, existingDnsZoneIds, existingIdentityIds, existingWorkspaceId, existingActionGroupId } =
    existingResources;
  it.each([
    [
      "CALLER_STATIC_TOKENS",
      { everyAppSettings: { CALLER_STATIC_TOKENS: "true" } },
      {},
      ["roleAssignments", "secrets"],
    ],
    ["RESOURCE_LOCKS", { resourceLocks: true }, {}, ["locks"]],
    ["IDENTITY_ID_", {}, { existingIdentityIds }, ["roleAssignments", "userAssignedIdentities"]],
    ["TRIAL", {}, { trial: true }, [...network, ...zones, "privateEndpoints", "privateDnsZoneGroups"]],
    ["NETWORK_ID", {}, { existingNetworkId }, network],
    ["SUBNET_ID_", {}, { existingSubnetIds, existingDnsZoneIds }, [...network, ...zones]],
    ["ADDITIONAL_SUBNETS", { additionalSubnets: "runners=10.90.1.0/26" }, {}, ["subnets"]],
    ["DNS_ZONE_ID_", {}, { existingDnsZoneIds }, zones],
    ["PRIVATE_DNS", {}, { privateDns: "none" }, [...zones, "privateDnsZoneGroups"]],
    ["WORKSPACE_ID", {}, { existingWorkspaceId }, ["workspaces"]],
    ["ACTION_GROUP_ID", {}, { existingActionGroupId }, ["actionGroups"]],
    ["MAIL_DOMAIN", {}, { mailDomain: "other.example.com" }, ["domains"]],
    ["MAIL_SENDER_NAME", { mailSenderName: "keys" }, {}, ["senderUsernames"]],
    [
      "CLOUD_TABLES_SHIPMENTS_TABLE_NAME",
      {},
      connectorSettings({ CLOUD_TABLES_SHIPMENTS_TABLE_NAME: "others" }),
      ["tables"],
    ],
  ])("leaves what docs/deploy.md names: %s", (variable, before, after, types) => {
    const left = new Set(leftBy(before, after).map(({ type }) => type.split("/").at(-1)));
    expect([...left].sort()).toEqual(types.toSorted());
    const [, section = ""] = readFileSync("docs/deploy.md", "utf8").split("\n### What a former option leaves\n");
    expect(section.split("\n## ")[0]).toMatch(new RegExp(`^\\|[^|]*\`${variable}`, "m"));
  });
});
