import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FakeCommands, fakeCommands } from "../azd/fake-commands.ts";
import { graphToken, simulatedGraph } from "./simulated-graph.ts";

const az = `if (process.argv.includes("get-access-token")) console.log(${JSON.stringify(graphToken)}); else process.exitCode = 1;`;
const azdOf = (values: Readonly<Record<string, string>>) =>
  `const value = ${JSON.stringify(values)}[process.argv.at(-1)]; if (value) console.log(value); else process.exitCode = 1;`;
const environment = {
  AZURE_ENV_NAME: "sample",
  AZURE_SUBSCRIPTION_ID: "66666666-6666-4666-8666-666666666666",
  AZURE_RESOURCE_GROUP: "rg-sample",
};
const azd = azdOf(environment);
const narrow = "UserAuthMethod-Passkey.ReadWrite.All";
const broad = "UserAuthenticationMethod.ReadWrite.All";

describe("the registration of the API with Entra", () => {
  let commands: FakeCommands;
  let graph: Awaited<ReturnType<typeof simulatedGraph>>;
  beforeEach(async () => {
    commands = fakeCommands({ az, azd });
    graph = await simulatedGraph({ permissions: [narrow, broad] });
  });
  afterEach(async () => {
    commands.remove();
    await graph.close();
  });
  const register = (...args: string[]) =>
    commands.run("infra/scripts/register-api.mjs", ["--graph", graph.origin, ...args]);
  const api = () => {
    const [application] = graph.applications;
    const principal = graph.principals.find(({ appId }) => appId === application?.appId);
    if (application === undefined || principal === undefined) throw new Error("nothing was registered");
    return { application, principal };
  };

  it("makes an application of version 2 with both roles, whose tokens go to holders of a role alone", async () => {
    const output = await register();
    const { application, principal } = api();
    expect(application).toMatchObject({
      uniqueName: expect.stringMatching(/^fido-credential-backend-sample-[a-z2-7]{13}$/),
      signInAudience: "AzureADMyOrg",
      identifierUris: [`api://${application.appId}`],
      api: { requestedAccessTokenVersion: 2 },
    });
    expect(
      application.appRoles?.map(({ value, allowedMemberTypes, isEnabled }) => [value, allowedMemberTypes, isEnabled]),
    ).toEqual([
      ["Core.Admin", ["User", "Application"], true],
      ["Connector.Call", ["User", "Application"], true],
      ["Core.Read", ["User", "Application"], true],
      ["Core.Support", ["User", "Application"], true],
      ["Core.Import", ["User", "Application"], true],
      ["Connector.Read", ["User", "Application"], true],
      ["Connector.Support", ["User", "Application"], true],
    ]);
    expect(principal.appRoleAssignmentRequired).toBe(true);
    expect(application.api?.oauth2PermissionScopes).toBeUndefined();
    expect(output).toContain(`azd env set CALLER_AUDIENCES ${application.appId}`);
    expect(output).not.toContain(graphToken);
  });

  it("gives roles, and the permission of kind B to the connector's identity", async () => {
    const [admin, firstCaller, secondCaller, desk, connector] = Array.from({ length: 5 }, () => randomUUID()) as [
      string,
      string,
      string,
      string,
      string,
    ];
    const callers = ["--connector-caller", firstCaller, "--connector-caller", secondCaller];
    const output = await register(
      "--core-admin",
      admin,
      ...callers,
      "--role",
      `Core.Support=${desk}`,
      "--passkeys",
      connector,
    );
    const { application, principal } = api();
    const titles = graph.assignments.map(({ principalId, resourceId, appRoleId }) => [
      principalId,
      resourceId === principal.id
        ? application.appRoles?.find(({ id }) => id === appRoleId)?.value
        : graph.graphRoles.find(({ id }) => id === appRoleId)?.value,
    ]);
    expect(titles).toEqual([
      [admin, "Core.Admin"],
      [firstCaller, "Connector.Call"],
      [secondCaller, "Connector.Call"],
      [desk, "Core.Support"],
      [connector, narrow],
    ]);
    expect(output).toContain("azd env set IDPA_MANAGED_IDENTITY true");
  });

  it("changes nothing when it runs again, and keeps what others added", async () => {
    const args = [
      "--core-admin",
      randomUUID(),
      "--connector-caller",
      randomUUID(),
      "--connector-caller",
      randomUUID(),
      "--passkeys",
      randomUUID(),
      "--people",
    ];
    await register(...args);
    const { application, principal } = api();
    application.appRoles?.push({
      id: randomUUID(),
      value: "Somebody.Elses",
      allowedMemberTypes: ["User"],
      isEnabled: true,
    });
    application.identifierUris?.push("api://elsewhere");
    application.api?.preAuthorizedApplications?.push({ appId: randomUUID(), delegatedPermissionIds: [] });
    principal.appRoleAssignmentRequired = false;
    const before = structuredClone({ applications: graph.applications, assignments: graph.assignments });
    const output = await register(...args);
    const sorted = <T>(all: readonly T[] = []) => all.map(each => JSON.stringify(each)).sort();
    const [now, then] = [graph.applications[0], before.applications[0]];
    expect(graph.applications).toHaveLength(1);
    expect(now?.appRoles).toEqual(then?.appRoles);
    expect(now?.identifierUris).toEqual(then?.identifierUris);
    expect(sorted(now?.api?.preAuthorizedApplications)).toEqual(sorted(then?.api?.preAuthorizedApplications));
    expect(graph.assignments).toEqual(before.assignments);
    expect(graph.principals).toHaveLength(2);
    expect(principal.appRoleAssignmentRequired).toBe(true);
    expect(output).toContain("was there");
  });

  it.each(["AZURE_SUBSCRIPTION_ID", "AZURE_RESOURCE_GROUP"])(
    "makes an application of its own for an environment of the same name with another %s",
    async variable => {
      await register();
      commands.remove();
      commands = fakeCommands({ az, azd: azdOf({ ...environment, [variable]: "another" }) });
      await register();
      expect(graph.applications).toHaveLength(2);
      commands.remove();
      commands = fakeCommands({ az, azd: azdOf({ ...environment, AZURE_RESOURCE_GROUP: "RG-Sample" }) });
      await register();
      expect(graph.applications).toHaveLength(2);
    },
  );

  it("says which value is missing if there is no azd environment", async () => {
    commands.remove();
    commands = fakeCommands({ az, azd: azdOf({ AZURE_ENV_NAME: "sample" }) });
    await expect(register()).rejects.toThrow("no azd environment that has AZURE_SUBSCRIPTION_ID: give a --name");
  });

  it("lets people sign in by the Azure CLI where that is asked for, by a scope that is no role", async () => {
    await register("--people");
    const { application } = api();
    const [scope] = application.api?.oauth2PermissionScopes ?? [];
    expect(scope?.value).toBe("access_as_user");
    expect(application.appRoles?.map(({ value }) => value)).not.toContain(scope?.value);
    expect(application.api?.preAuthorizedApplications).toEqual([
      { appId: "04b07795-8ddb-461a-bbee-02f9e1bf7b46", delegatedPermissionIds: [scope?.id] },
    ]);
  });

  it("takes the broad permission where the tenant has no narrow one, or where it is asked for", async () => {
    const connector = randomUUID();
    expect(await register("--passkeys", connector, "--broad")).toContain("It takes effect within 24 hours");
    const assignments = () =>
      graph.assignments.map(({ appRoleId }) => graph.graphRoles.find(({ id }) => id === appRoleId)?.value);
    expect(assignments()).toEqual([broad]);
    expect(await register("--passkeys", connector)).toContain(`It also has ${broad}`);
    await graph.close();
    graph = await simulatedGraph({ permissions: [broad] });
    expect(await register("--passkeys", connector)).toContain(`This tenant has no ${narrow} yet.`);
    expect(assignments()).toEqual([broad]);
  });

  it("also grants what the checks of an order read, where that is asked for and the tenant has it", async () => {
    await graph.close();
    graph = await simulatedGraph({ permissions: [narrow, "User.Read.All", "Policy.Read.AuthenticationMethod"] });
    const connector = randomUUID();
    const given = () =>
      graph.assignments.map(({ appRoleId }) => graph.graphRoles.find(({ id }) => id === appRoleId)?.value);
    await register("--passkeys", connector);
    expect(given()).toEqual([narrow]);
    await register("--passkeys", connector, "--checks");
    expect(given()).toEqual([narrow, "User.Read.All", "Policy.Read.AuthenticationMethod"]);
    await graph.close();
    graph = await simulatedGraph({ permissions: [narrow, "User.Read.All"] });
    expect(await register("--passkeys", connector, "--checks")).toContain(
      "This tenant has no Policy.Read.AuthenticationMethod yet.",
    );
    expect(given()).toEqual([narrow, "User.Read.All"]);
  });

  it.each([
    ["an object id that is none", ["--core-admin", "somebody@example.com"], "somebody@example.com is no object id"],
    ["a name that breaks a path", ["--name", "a')/owners"], "The name has 1 to 120"],
  ])("refuses %s before it calls anything", async (_, args, expected) => {
    await expect(register(...args)).rejects.toThrow(expected);
    expect(graph.calls).toEqual([]);
  });

  it("says what Graph refuses, and never the token", async () => {
    commands.remove();
    commands = fakeCommands({ azd, az: 'console.log("another token");' });
    const failure = await register().catch((error: Error) => error.message);
    expect(failure).toContain("InvalidAuthenticationToken");
    expect(failure).not.toContain("another token");
  });

  it("says what is missing if no user is signed in", async () => {
    commands.remove();
    commands = fakeCommands({ azd, az: "process.exitCode = 1;" });
    await expect(register()).rejects.toThrow("az login");
  });

  it("sends a token to no address without TLS but on this machine", async () => {
    await expect(register("--graph", "http://graph.example.com")).rejects.toThrow("no https address");
  });
});
