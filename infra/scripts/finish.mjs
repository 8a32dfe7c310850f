#!/usr/bin/env node
// What is left after the first `azd up`: says it, or does it (docs/deploy.md).
import { parseArgs } from "node:util";
import { createAz } from "../hooks/command.mjs";
import { terminal } from "../hooks/questions.mjs";
import { checkPeers, keeperOf, readEnvironment, steps } from "./finish/steps.mjs";

const usage = `npm run deploy:finish [-- options]        (docs/deploy.md)

Does what is left after the first \`azd up\`: verifies the mail domain, registers the APIs with Entra, asks for the secrets of peers,
deploys Core's package, provisions once more, and checks the peers. Each step says what it does, and is skipped when it is done, so
the command may be repeated at any time. Needs azd and the Azure CLI, both signed in.

  --list                   only says what is left
  --core-admin <id>        object id that gets Core.Admin in place of your own account; may be repeated
  --connector-caller <id>  object id that gets Connector.Call in place of your own account; may be repeated
  --user [IDP=]<user>      test user for whom an identity provider is asked when the peers are checked; may be repeated
  --without-mail           does not wait for the DNS records of the mail domain; PIN emails wait until you repeat the command
  --wait <minutes>         how long to wait for the DNS records; 10 by default
  --package <file>         package for Core; package.zip by default
  --graph <address>        Microsoft Graph of another cloud

The exit code is 0 if nothing is left, 1 if something is.`;

const { values } = parseArgs({
  options: {
    list: { type: "boolean", default: false },
    "core-admin": { type: "string", multiple: true, default: [] },
    "connector-caller": { type: "string", multiple: true, default: [] },
    user: { type: "string", multiple: true, default: [] },
    "without-mail": { type: "boolean", default: false },
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
  const environment = readEnvironment();
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
    az: createAz(values.list ? 60_000 : 15 * 60_000),
    environment,
    options: {
      coreAdmins: values["core-admin"],
      connectorCallers: values["connector-caller"],
      users: values.user,
      withoutMail: values["without-mail"],
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
  try {
    const left = values.list ? await list(context) : await finish(context);
    report(left);
    if (left.length > 0 && !values.list) process.exitCode = 1;
  } finally {
    endQuestions();
  }
}

async function list(context) {
  const left = [];
  for (const { title, left: leftOf } of steps) {
    const what = await attempt(() => leftOf(context));
    if (what !== undefined) left.push(`${title}: ${what}`);
  }
  return left;
}

async function finish(context) {
  const left = [];
  for (const { title, left: leftOf, act, always } of steps) {
    const before = always ? "" : await attempt(() => leftOf(context));
    if (before === undefined) {
      console.log(`${title}: done already.`);
      continue;
    }
    if (!always) console.log(`${title}:`);
    const what = await attempt(() => act(context));
    if (what !== undefined) left.push(`${title}: ${what}`);
  }
  if (left.length > 0) return left;
  console.log("Peers:");
  const what = await attempt(() => checkPeers(context));
  return what === undefined ? [] : [`Peers: ${what}`];
}

/** A step that fails does not keep the others from being done. */
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    return error.message;
  }
}

function report(left) {
  if (left.length === 0) {
    console.log('\nNothing is left. The first order: docs/deploy.md, "The first user and the first order".');
    return;
  }
  console.log("\nThis is left:\n");
  for (const each of left) console.log(`- ${each}`);
  console.log(
    `\n${values.list ? "Then run" : "Then repeat"} \`npm run deploy:finish\`, which does what is left and waits for nothing that is done.`,
  );
}
