import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { CaseName } from "./cases.ts";
import { valueAt } from "./json.ts";
import { type Deployed, deployed, ofType, token } from "./templates.ts";

/** What one set of parameters creates and another does not: azd deploys incrementally, so it stays. */
function leftBy(before: CaseName, after: CaseName): readonly Deployed[] {
  const kept = new Set(deployed(after).resources.map(({ id }) => id.toLowerCase()));
  return deployed(before).resources.filter(({ id }) => !kept.has(id.toLowerCase()));
}

const [, section = ""] = readFileSync("docs/deploy.md", "utf8").split("\n### What a former option leaves\n");

describe("an option that is switched off", () => {
  it.each([
    ["a removed event sink", "connector-proxy", "base"],
    ["availability tests, by a proxy", "client-proxy", "proxies"],
    ["a proxy and availability tests", "proxies", "base"],
    ["address ranges that deploy Core and of operators", "ranges", "base"],
    ["zones, a cap and longer soft delete", "test", "base"],
    ["a trial, which becomes a stage", "trial", "base"],
  ] as const)("leaves no resource that the template no longer resets: %s", (_, before, after) => {
    expect(leftBy(before, after)).toEqual([]);
  });

  it("leaves a role on a locked vault, which Azure deletes only after the lock, as docs/deploy.md says", () => {
    const locks = ofType(deployed("prod"), "Microsoft.Authorization/locks");
    const lockedIds = locks.map(({ id }) => id.split("/providers/Microsoft.Authorization/")[0] ?? "");
    const roles = leftBy("static-tokens", "base").filter(({ type }) => type.endsWith("/roleAssignments"));
    expect(roles).toHaveLength(2);
    for (const { id } of roles) expect(lockedIds.some(each => id.includes(`'${each}/`))).toBe(true);
    const [beforeRoles = ""] = section.split("az role assignment delete");
    expect(beforeRoles).toContain("delete the locks first");
  });

  it("disables what it leaves in place: its job rules, and its availability tests with their alerts", () => {
    const disabled = (name: CaseName) =>
      ["scheduledQueryRules", "webtests", "metricAlerts"].flatMap(type =>
        ofType(deployed(name), `Microsoft.Insights/${type}`).flatMap(({ name: resource, body }) => {
          const isEnabled = valueAt(body.properties, "enabled") ?? valueAt(body.properties, "Enabled");
          return isEnabled === true ? [] : [resource.replace(`-${token}`, "")];
        }),
      );
    const tests = ["health-client", "health-connector", "health-client-down", "health-connector-down"];
    expect(disabled("options")).toEqual([]);
    expect(disabled("base")).toEqual(["alert-job-not-run-sendevents", ...tests]);
    expect(disabled("proxies")).toEqual(["alert-job-not-run-sendevents", ...tests]);
    expect(disabled("other-mail-domain")).toEqual([
      "alert-job-not-run-sendevents",
      "alert-job-not-run-scheduledauthbackup",
      "alert-job-not-run-scheduledconnectorbackup",
      ...tests,
    ]);
  });

  const network = ["networkSecurityGroups", "virtualNetworks", "subnets"];
  const zones = ["privateDnsZones", "virtualNetworkLinks"];
  const own = ["roleAssignments", "userAssignedIdentities", "workspaces", "actionGroups"];
  it.each([
    [["CALLER_STATIC_TOKENS"], "static-tokens", "base", ["roleAssignments", "secrets"]],
    [["RESOURCE_LOCKS"], "prod", "base", ["locks"]],
    [["TRIAL"], "base", "trial", [...network, ...zones, "privateEndpoints", "privateDnsZoneGroups"]],
    [["NETWORK_ID"], "base", "existing-network", [...network, "privateDnsZones", "virtualNetworkLinks"]],
    [
      ["SUBNET_ID_", "DNS_ZONE_ID_", "IDENTITY_ID_", "WORKSPACE_ID", "ACTION_GROUP_ID"],
      "base",
      "existing",
      [...network, ...zones, ...own],
    ],
    [["ADDITIONAL_SUBNETS"], "ways-out", "base", ["subnets"]],
    [["PRIVATE_DNS"], "base", "no-dns-records", [...zones, "privateDnsZoneGroups"]],
    [["MAIL_DOMAIN"], "base", "other-mail-domain", ["domains", "senderUsernames"]],
    [["MAIL_SENDER_NAME", "CLOUD_TABLES_SHIPMENTS_TABLE_NAME"], "options", "base", ["senderUsernames", "tables"]],
  ] as const)("leaves what docs/deploy.md names: %s", (variables, before, after, types) => {
    const left = new Set(leftBy(before, after).map(({ type }) => type.split("/").at(-1)));
    expect([...left].sort()).toEqual(types.toSorted());
    for (const variable of variables)
      expect(section.split("\n## ")[0]).toMatch(new RegExp(`^\\|[^|]*\`${variable}`, "m"));
  });
});
