// The steps after the first `azd up`. Each finds out in Azure whether it is done, so that the command may be repeated at any time.
import { allowPasskeys, callersLeft, passkeysLeft, register } from "./callers.mjs";
import { coreLeft, deployCore } from "./core.mjs";
import { awaitVerification, mailLeft, startVerification } from "./mail.mjs";
import { checkPeers, idpFileLeft, writeIdpFile } from "./peers.mjs";
import { provision, provisionLeft } from "./provision.mjs";
import { missingSecrets, neededSecrets, writeSecret } from "./secrets.mjs";

const yearMs = 365 * 86_400_000;

/**
 * The steps in their order. `left` returns what is left of a step, undefined if it is done; `act` does it and returns what is still
 * left. Both get the context: az, the azd environment, the options, and how to tell and to ask a person. A step without `left` is
 * done in every run.
 */
export const steps = [
  {
    title: "Mail domain",
    left: mailLeft,
    // Azure looks while the other steps run; the step before the provision waits for it.
    act: async context => {
      startVerification(context);
      return undefined;
    },
  },
  { title: "Callers", left: callersLeft, act: register },
  { title: "Permission for passkeys", left: passkeysLeft, act: allowPasskeys },
  { title: "Secrets of peers", left: secretsLeft, act: askForSecrets },
  { title: "File of identity providers", left: idpFileLeft, act: writeIdpFile },
  { title: "Core's package", left: coreLeft, act: deployCore },
  { title: "DNS records", act: awaitVerification },
  { title: "Last provision", left: provisionLeft, act: provision },
  { title: "Peers", act: checkPeers },
];

function secretsLeft(context) {
  const missing = missingSecrets(context);
  if (missing === undefined)
    return `not checked, needed are ${neededSecrets(context.environment)
      .map(({ name }) => name)
      .join(", ")}`;
  return missing.length === 0
    ? undefined
    : missing.map(({ vault, name, use }) => `${name} in ${vault}: ${use}`).join("\n    ");
}

async function askForSecrets(context) {
  const { ask, endQuestions } = context;
  if (ask === undefined) return secretsLeft(context);
  try {
    for (const secret of missingSecrets(context) ?? []) await askForSecret(context, secret);
  } finally {
    endQuestions();
  }
  return secretsLeft(context);
}

async function askForSecret(context, secret) {
  const { ask, tell } = context;
  const question = `${secret.name}, ${secret.use} (not shown; @file reads it from a file; empty: later): `;
  const value = (await ask(question, { hidden: true }))?.trim();
  if (!value) return;
  // The terminal gives the other lines of the text as the next answers.
  if (value.startsWith("-----BEGIN"))
    throw new Error(`${secret.name} was not written: text of several lines comes from a file. Answer @ and its name.`);
  for (;;) {
    const day = (await ask("Last day on which it is valid, as 2031-01-31 (empty: in a year): "))?.trim();
    const expires = day ? Date.parse(day) : Date.now() + yearMs;
    if (expires > Date.now()) {
      writeSecret(context, secret, { value, expiresOn: Math.floor(expires / 1000) });
      return tell(`Wrote ${secret.name} into ${secret.vault}.`);
    }
    tell("That is no day in the future.");
  }
}
