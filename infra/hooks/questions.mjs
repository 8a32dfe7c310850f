// Asks a person at a terminal for what a first deployment needs, and keeps each answer in the azd environment at once.
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { brokenValues } from "./values.mjs";

/** By what the settings check recognises each kind of identity provider; it then names what else is missing. */
const kinds = {
  1: { values: { IDP_DEFAULT: "entra", IDPA_MANAGED_IDENTITY: "true" } },
  2: {
    values: { IDP_DEFAULT: "entra" },
    first: "IDPA_FIDO_API_CLIENT_ID",
    text: "Client id of the application in Entra.",
  },
  3: { values: { IDP_DEFAULT: "pingone" }, first: "IDPB_ENVIRONMENT", text: "Id of the environment in PingOne." },
  4: {
    values: { IDP_ENABLE_MULTI_IDP: "true" },
    first: "IDP_DEFAULT",
    text: "Id, in the file, of the identity provider for orders that name none.",
  },
};

const kindQuestion = `Identity provider of the security keys:
  1  Entra, by the connector's own identity: no secret
  2  Entra, by an application with a secret or certificate
  3  PingOne
  4  PingOne Advanced Identity Cloud, or several: a file that you write later
Number`;

const setupRangeQuestion = `Addresses from which this machine reaches the internet, as 203.0.113.7/32 (\`curl https://api.ipify.org\` prints one), so that it can
deploy Core and create the first user; closed again at the end. Empty if this machine is inside the network, or if a pipeline deploys Core.
CORE_SETUP_RANGE`;

/**
 * Asks for every value that is missing or wrong. An empty answer leaves a value as it is. Returns the answers.
 * @param question asks one question and returns the answer
 * @param check returns the problems of the settings, see `readSettingProblems`
 * @param save keeps values in the azd environment
 */
export async function askForMissing(environment, { question, check, save, tell }) {
  const answers = {};
  const now = () => ({ ...environment, ...answers });
  const keep = values => {
    save(values);
    Object.assign(answers, values);
  };
  const askFor = async (name, text) => {
    for (;;) {
      const answer = (await question(`${text}: `)).trim();
      if (!answer) return;
      const wrong = /["\\$\s]/.test(answer)
        ? [`${name}: an answer has no spaces, quotes, $ or \\. Set it by \`azd env set ${name}\`.`]
        : brokenValues({ ...now(), [name]: answer }).filter(problem => problem.startsWith(name));
      if (wrong.length === 0) return keep({ [name]: answer });
      tell(wrong.join("\n"));
    }
  };

  let problems = check(now());
  const asksForRange = !environment.CORE_APP_NAME && environment.CORE_SETUP_RANGE === undefined;
  if (environment.MAIL_DOMAIN && problems.length === 0 && !asksForRange) return answers;
  tell(
    "A first deployment needs these values. Each answer is kept in the azd environment; an empty one leaves a value out (docs/deploy.md).\n",
  );
  if (!environment.MAIL_DOMAIN)
    await askFor(
      "MAIL_DOMAIN",
      "Domain that PIN emails come from, to which you can add DNS records, as keys.example.com.\nMAIL_DOMAIN",
    );
  const isAboutIdp = ({ path }) => /^IDP/.test(path);
  const hasIdp = Object.entries(environment).some(([name, value]) => /^IDP[AB]?_/.test(name) && value);
  if (!hasIdp && problems.some(isAboutIdp)) {
    const kind = kinds[(await question(`${kindQuestion}: `)).trim()];
    if (kind !== undefined) keep(kind.values);
    if (kind?.first !== undefined) await askFor(kind.first, `${kind.text}\n${kind.first}`);
    problems = check(now());
  }
  for (let isAnswered = true; isAnswered && problems.length > 0; ) {
    const before = { ...answers };
    for (const { path, reason, description } of problems)
      await askFor(path, `${description}${reason === "must be set" ? "" : ` It ${reason}.`}\n${path}`);
    isAnswered = Object.entries(answers).some(([name, value]) => before[name] !== value);
    if (isAnswered) problems = check(now());
  }
  if (asksForRange) await askFor("CORE_SETUP_RANGE", setupRangeQuestion);
  // An empty answer is one too: it is not asked for again.
  if (asksForRange && answers.CORE_SETUP_RANGE === undefined) keep({ CORE_SETUP_RANGE: "" });
  return answers;
}

/**
 * Returns a function that asks at the terminal, without showing the answer if that is hidden, and one that ends that. Ctrl+C and Ctrl+D
 * at a question end the process with 130: an empty answer would let the run go on.
 */
export function terminal() {
  let isHidden = false;
  const output = new Writable({
    write(chunk, encoding, done) {
      if (isHidden) done();
      else process.stdout.write(chunk, encoding, done);
    },
  });
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  let isOver = false;
  lines.once("close", () => {
    if (isOver) return;
    console.error("\nStopped. What was answered before is kept: repeat the command to go on.");
    process.exit(130);
  });
  const question = async (text, { hidden = false } = {}) => {
    const answer = lines.question(text);
    isHidden = hidden;
    const given = await answer;
    if (isHidden) process.stdout.write("\n");
    isHidden = false;
    return given;
  };
  const close = () => {
    isOver = true;
    lines.close();
  };
  return { question, close };
}
