import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { graphToken, simulatedGraph } from "../registration/simulated-graph.ts";
import { type FakeCommands, fakeCommands } from "./fake-commands.ts";
import { otherPerson, person } from "./simulated-azure.ts";

const connector = "99999999-9999-4999-8999-999999999999";
const environment = {
  AZURE_ENV_NAME: "sample",
  AZURE_SUBSCRIPTION_ID: "66666666-6666-4666-8666-666666666666",
  AZURE_RESOURCE_GROUP: "rg-sample",
  CORE_APP_NAME: "func-core-sample",
  CONNECTOR_APP_NAME: "func-connector-sample",
  CONNECTOR_PRINCIPAL_ID: connector,
  IDPA_MANAGED_IDENTITY: "true",
};
const azd = `if (process.argv.includes("get-values")) console.log(JSON.stringify(${JSON.stringify(environment)}));`;
const azOf = (token: string) => `
const call = process.argv.slice(2).join(" ");
if (call.startsWith("account get-access-token --resource")) console.log(${JSON.stringify(token)});
else if (call.startsWith("ad signed-in-user show")) console.log(${JSON.stringify(JSON.stringify(person))});
else if (call.startsWith("ad user show --id caller@example.com")) console.log(${JSON.stringify(JSON.stringify(otherPerson))});
else process.exitCode = 1;`;

describe("the callers at the end of a first deployment", () => {
  let commands: FakeCommands | undefined;
  let graph: Awaited<ReturnType<typeof simulatedGraph>>;
  beforeEach(async () => {
    graph = await simulatedGraph({ permissions: ["UserAuthMethod-Passkey.ReadWrite.All"] });
  });
  afterEach(async () => {
    commands?.remove();
    await graph.close();
  });

  /** Returns the output; other steps fail, because Azure answers nothing. */
  const finish = async (token: string, ...args: readonly string[]): Promise<string> => {
    commands = fakeCommands({ az: azOf(token), azd });
    const options = ["--wait", "0", "--without-provision", "--without-peers", "--package", "package.json"];
    const all = [...options, "--graph", graph.origin, ...args];
    return commands
      .run("infra/scripts/finish.mjs", all)
      .catch(({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => stdout + stderr);
  };
  const given = () => {
    const [application] = graph.applications;
    return graph.assignments.flatMap(({ principalId, appRoleId }) => {
      const role = application?.appRoles?.find(({ id }) => id === appRoleId)?.value;
      return role === undefined ? [] : [`${role} ${principalId}`];
    });
  };

  it("are you, for each role that no other is named for", async () => {
    const output = await finish(graphToken, "--connector-caller", "caller@example.com");
    expect(output).toContain(`run the stage again, with CALLER_AUDIENCES="${graph.applications[0]?.appId}"`);
    expect(given()).toEqual([`Core.Admin ${person}`, `Connector.Call ${otherPerson}`]);
  });

  it.each(["nobody@example.com", "somebody"])("are not %s, who is no object id and no user", async name => {
    expect(await finish(graphToken, "--core-admin", name)).toContain(`"${name}" is no object id, and no user`);
    expect(graph.calls).toEqual([]);
  });

  it("are registered by others where Entra refuses, with the whole commands", async () => {
    const output = await finish("another token", "--connector-caller", otherPerson);
    const [, name] = /--name (fido-credential-backend-sample-\w{13}) /.exec(output) ?? [];
    const script = "node infra/scripts/register-api.mjs";
    expect(output).toContain(
      `    ${script} --name ${name} --core-admin ${person} --connector-caller ${otherPerson} --people --graph ${graph.origin}\n    azd env set CALLER_AUDIENCES <application id>`,
    );
    expect(output).toContain(`    ${script} --passkeys ${connector} --graph ${graph.origin}`);
    // Who grants the permission need not have the right to change the application.
    commands?.remove();
    commands = fakeCommands({ az: azOf(graphToken), azd });
    await commands.run("infra/scripts/register-api.mjs", ["--passkeys", connector, "--graph", graph.origin]);
    expect([graph.applications.length, graph.assignments.length]).toEqual([0, 1]);
  });
});
