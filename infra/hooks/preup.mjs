// Before `azd up`: azd reads the parameters before any other hook runs.
import { setInEnvironment } from "./command.mjs";
import { askForMissing, terminal } from "./questions.mjs";
import { readSettingProblems, settingProblems } from "./settings.mjs";
import { brokenValues, stopOn } from "./values.mjs";

const { SKIP_PREFLIGHT } = process.env;

stopOn(brokenValues(process.env));
if (SKIP_PREFLIGHT !== "true") {
  const answers = process.stdin.isTTY ? await askAtTerminal() : {};
  const environment = { ...process.env, ...answers };
  stopOn([...missingMailDomain(environment), ...settingProblems(environment)]);
}

/** Without it azd asks, or fails without a word on why. An answer that azd asked for once is no variable, but an output has it. */
function missingMailDomain({ MAIL_DOMAIN, MAIL_DOMAIN_NAME }) {
  return MAIL_DOMAIN || MAIL_DOMAIN_NAME ? [] : ["MAIL_DOMAIN: must be set (azd env set MAIL_DOMAIN …)."];
}

async function askAtTerminal() {
  const { question, close } = terminal();
  const tell = sentence => console.log(sentence);
  try {
    return await askForMissing(process.env, { question, check: readSettingProblems, save: setInEnvironment, tell });
  } finally {
    close();
  }
}
