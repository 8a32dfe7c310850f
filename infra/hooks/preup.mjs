// Before `azd up`: azd reads the parameters before any other hook runs.
import { setInEnvironment } from "./command.mjs";
import { askForMissing, terminal } from "./questions.mjs";
import { readSettingProblems, settingProblems } from "./settings.mjs";
import { brokenValues, stopOn } from "./values.mjs";

const { SKIP_PREFLIGHT } = process.env;

stopOn(brokenValues(process.env));
if (SKIP_PREFLIGHT !== "true") {
  const answers = process.stdin.isTTY ? await askAtTerminal() : {};
  stopOn(settingProblems({ ...process.env, ...answers }));
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
