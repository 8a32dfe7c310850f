#!/usr/bin/env node
// What is left after the first `azd up`: says it, or does it (docs/deploy.md).
import { parseArgs } from "node:util";
import { createAz } from "../hooks/command.mjs";
import { terminal } from "../hooks/questions.mjs";
import { principalOf } from "./finish/callers.mjs";
import { closeCore, openCore } from "./finish/core.mjs";
import { keeperOf, readEnvironment } from "./finish/environment.mjs";
import { steps } from "./finish/steps.mjs";

const usage = `npm run deploy:finish [-- options]        (docs/deploy.md)

Does what is left after the first \`azd up\`: verifies the mail domain, registers the APIs with Entra, asks for the secrets of peers,
deploys Core's package, provisions once more, and checks the peers. Each step says what it does, and is skipped when it is done, so
the command may be repeated at any time. Needs azd and the Azure CLI, both signed in.

  --list                   only says what is left
  --close                  only ends that Core can be reached from CORE_SETUP_RANGE: run it when the first user is created
  --core-admin <who>       object id or user name that gets Core.Admin in place of your own account; may be repeated
  --connector-caller <who> object id or user name that gets Connector.Call in place of your own account; may be repeated
  --idp-file <file>        writes the file of several identity providers, where the storage can be reached
  --user [IDP=]<user>      test user for whom an identity provider is asked when the peers are checked; may be repeated
  --without-mail           does not wait for the DNS records of the mail domain; PIN emails wait until you repeat the command
  --without-provision      leaves the last provision to a pipeline, whose parameters this azd environment does not have
  --without-peers          does not check the peers
  --wait <minutes>         how long to wait for the DNS records; 10 by default, 0 waits for no firewall rule either
  --package <file>         package for Core; package.zip by default
  --graph <address>        Microsoft Graph of another cloud

The exit code is 0 if nothing is left, 1 if something is.`;

const { values } = parseArgs({
  options: {
    list: { type: "boolean", default: false },
    close: { type: "boolean", default: false },
    "core-admin": { type: "string", multiple: true, default: [] },
    "connector-caller": { type: "string", multiple: true, default: [] },
    user: { type: "string", multiple: true, default: [] },
    "idp-file": { type: "string" },
    "without-mail": { type: "boolean", default: false },
    "without-provision": { type: "boolean", default: false },
    "without-peers": { type: "boolean", default: false },
    wait: { type: "string", default: "10" },
    package: { type: "string", default: "package.zip" },
    graph: { type: "string", default: "https://graph.microsoft.com" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.log(usage);
else {
  try {
    await main();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}

async function main() {
  const waitMs = Number(values.wait) * 60_000;
  if (!(waitMs >= 0)) throw new Error("--wait is a number of minutes.");
  const az = createAz(values.list ? 60_000 : 15 * 60_000);
  const environment = readEnvironment(az);
  let person;
  const ask = (...question) => {
    person ??= terminal();
    return person.question(...question);
  };
  const endQuestions = () => {
    person?.close();
    person = undefined;
  };
  const context = {
    az,
    environment,
    options: {
      coreAdmins: values["core-admin"].map(text => principalOf(az, text)),
      connectorCallers: values["connector-caller"].map(text => principalOf(az, text)),
      idpFile: values["idp-file"],
      users: values.user,
      withoutMail: values["without-mail"],
      withoutProvision: values["without-provision"],
      withoutPeers: values["without-peers"],
      refusedMs: waitMs === 0 ? 0 : undefined,
      package: values.package,
      graphAddress: values.graph,
    },
    waitMs: values["without-mail"] ? 0 : waitMs,
    pauseMs: 15_000,
    tell: sentence => console.log(`  ${sentence}`),
    ask: process.stdin.isTTY ? ask : undefined,
    endQuestions,
    keep: keeperOf(environment),
  };
  if (values.close) return closeCore(context);
  try {
    const left = values.list ? await list(context) : await finish(context);
    report(left, openCore(environment));
    if (left.length > 0 && !values.list) process.exitCode = 1;
  } finally {
    endQuestions();
  }
}

async function list(context) {
  const left = [];
  for (const { title, left: leftOf } of steps) {
    const what = await attempt(() => leftOf?.(context));
    if (what !== undefined) left.push(`${title}: ${what}`);
  }
  return left;
}

async function finish(context) {
  const left = [];
  for (const { title, left: leftOf, act } of steps) {
    if (leftOf && (await attempt(() => leftOf(context))) === undefined) {
      console.log(`${title}: nothing to do.`);
      continue;
    }
    console.log(`${title}:`);
    const what = await attempt(() => act(context));
    if (what !== undefined) left.push(`${title}: ${what}`);
  }
  return left;
}

/** A step that fails does not keep the others from being done. */
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    return error.message;
  }
}

function report(left, open) {
  if (left.length === 0) {
    console.log('\nNothing is left. The first order: docs/deploy.md, "The first user and the first order".');
  } else {
    console.log("\nThis is left:\n");
    for (const each of left) console.log(`- ${each}`);
    console.log(
      `\n${values.list ? "Then run" : "Then repeat"} \`npm run deploy:finish\`, which does what is left and waits for nothing that is done.`,
    );
  }
  if (open !== undefined) console.log(`\n${open}`);
}
