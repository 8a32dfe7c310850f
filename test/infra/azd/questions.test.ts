import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { appEnvironments } from "../../../local/deploy/app-environments.ts";
import { readAllSettings } from "../../../local/deploy/read-all-settings.ts";
import { type FakeCommands, fakeCommands } from "./fake-commands.ts";

type Values = Readonly<Record<string, string>>;
interface Options {
  question(text: string): Promise<string>;
  check(environment: Values): readonly object[];
  save(values: Values): void;
  tell(sentence: string): void;
}
const { askForMissing } = (await import("../../../infra/hooks/questions.mjs" as string)) as {
  askForMissing(environment: Values, options: Options): Promise<Values>;
};

/** The problems of the connector's settings, as the check that the hooks run reports them. */
function check(environment: Values) {
  try {
    readAllSettings(appEnvironments(environment).connector);
    return [];
  } catch (error) {
    const { problems } = error as { problems: readonly { path: string; reason: string }[] };
    return problems.map(problem => ({ ...problem, description: "What it is." }));
  }
}

/** Answers questions by the last word of each. Returns the answers that are kept, in order, and what was asked and told. */
async function asked(answers: Readonly<Record<string, string | readonly string[]>>, environment: Values = {}) {
  const [saved, questions, told]: [Values[], string[], string[]] = [[], [], []];
  const left = new Map(Object.entries(answers).map(([name, values]) => [name, [values].flat()]));
  const question = async (text: string) => {
    const name = /(\w+): $/.exec(text)?.[1] ?? "";
    questions.push(name);
    if (questions.length > 40) throw new Error("It asks for ever.");
    return left.get(name)?.shift() ?? "";
  };
  const save = (values: Values) => void saved.push(values);
  const result = await askForMissing(environment, { question, check, save, tell: line => told.push(line) });
  return { result, saved, questions, told: told.join("\n"), problems: check({ ...environment, ...result }) };
}

const delivery = {
  MAIL_DOMAIN: "keys.example.com",
  DELIVERY_API_BASE_URL: "https://delivery.example.com",
  DELIVERY_JWKS_SIGN_ENDPOINT: "https://delivery.example.com/sign",
  DELIVERY_JWKS_TRANSPORT_ENDPOINT: "https://delivery.example.com/transport",
};

describe("the questions of a first deployment", () => {
  it.each<readonly [string, string, Values, Values]>([
    ["Entra by the connector's own identity", "1", {}, { IDP_DEFAULT: "entra", IDPA_MANAGED_IDENTITY: "true" }],
    [
      "Entra by an application",
      "2",
      { IDPA_FIDO_API_CLIENT_ID: "3b8d1c7e-6a52-4f90-8e13-7c2d5a9b0f46" },
      { IDP_DEFAULT: "entra" },
    ],
    [
      "PingOne",
      "3",
      {
        IDPB_ENVIRONMENT: "5e2a9d3c-8f41-4b7e-9c60-1d2f3a4b5c6d",
        IDPB_CLIENT_ID: "9c1b7a52-0d3e-4f68-a1b2-c3d4e5f60718",
        IDPB_AUTH_BASE_URL: "https://auth.pingone.eu",
        IDPB_API_BASE_URL: "https://api.pingone.eu/v1",
        IDPB_DEFAULT_RELYING_PARTY: "example.com",
      },
      { IDP_DEFAULT: "pingone" },
    ],
    ["a file that is written later", "4", { IDP_DEFAULT: "corporate" }, { IDP_ENABLE_MULTI_IDP: "true" }],
  ])("lead to settings with which the connector starts: %s", async (_, kind, given, chosen) => {
    const { result, problems, saved } = await asked({ ...delivery, Number: kind, ...given });
    expect(problems).toEqual([]);
    expect(result).toEqual({ ...delivery, ...given, ...chosen, CORE_SETUP_RANGE: "" });
    expect(Object.assign({}, ...saved)).toEqual(result);
  });

  it("are asked for what is missing only, and not at all if nothing is", async () => {
    const set = { ...delivery, IDPA_MANAGED_IDENTITY: "true", CORE_SETUP_RANGE: "" };
    expect((await asked({}, set)).questions).toEqual([]);
    const { DELIVERY_API_BASE_URL, ...others } = set;
    const { questions } = await asked({ DELIVERY_API_BASE_URL }, others);
    expect(questions).toEqual(["DELIVERY_API_BASE_URL"]);
  });

  it("ask for the addresses that may deploy Core until they are answered, also by nothing, or Core is there", async () => {
    const set = { ...delivery, IDPA_MANAGED_IDENTITY: "true" };
    expect(await asked({}, set)).toMatchObject({
      questions: ["CORE_SETUP_RANGE"],
      saved: [{ CORE_SETUP_RANGE: "" }],
    });
    expect((await asked({}, { ...set, CORE_APP_NAME: "func-core-a" })).questions).toEqual([]);
  });

  it("are repeated with the reason after an answer that does not fit", async () => {
    const { result, told, questions } = await asked({
      ...delivery,
      MAIL_DOMAIN: ["https://keys.example.com", 'a"b', "keys.example.com"],
      DELIVERY_API_BASE_URL: ["delivery.example.com", "https://delivery.example.com"],
      Number: "1",
      CORE_SETUP_RANGE: ["203.0.113.7", "203.0.113.7/32"],
    });
    expect(told).toContain("Write it without https://");
    expect(told).toContain("an answer has no spaces, quotes");
    expect(told).toContain("write 203.0.113.7/32");
    expect(questions.filter(name => name === "DELIVERY_API_BASE_URL")).toHaveLength(2);
    expect(result).toMatchObject({ ...delivery, CORE_SETUP_RANGE: "203.0.113.7/32" });
  });

  it("end with empty answers, so that the hook reports what is missing", async () => {
    const { result, problems, questions } = await asked({});
    expect(result).toEqual({ CORE_SETUP_RANGE: "" });
    expect(problems).toHaveLength(4);
    expect(new Set(questions).size).toBe(questions.length);
  });
});

describe("a question at a terminal", () => {
  let commands: FakeCommands | undefined;
  afterEach(() => commands?.remove());

  it.skipIf(spawnSync("script", ["--version"]).status !== 0).each([
    ["Ctrl+C", "\x03"],
    ["Ctrl+D", "\x04"],
  ])("ends the run at %s, so that azd does not provision", async (_, key) => {
    commands = fakeCommands({ azd: 'require("node:fs").appendFileSync(directory + "/azd.log", "called");' });
    const { directory } = commands;
    const env = { ...process.env, ...delivery, IDPA_MANAGED_IDENTITY: "true", TERM: "dumb" };
    const child = spawn("script", ["-qefc", "node infra/hooks/preup.mjs", "/dev/null"], {
      env: { ...env, PATH: `${directory}${delimiter}${process.env.PATH}` },
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      const isAsked = output.includes("CORE_SETUP_RANGE: ");
      output += chunk.toString();
      if (!isAsked && output.includes("CORE_SETUP_RANGE: ")) child.stdin.write(key);
    });
    const status = await new Promise(done => child.on("close", done));
    expect(output).toContain("Stopped.");
    expect(status).toBe(130);
    expect(() => readFileSync(`${directory}/azd.log`)).toThrow();
  });
});
