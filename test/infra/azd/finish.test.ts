import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { simulatedSite } from "./simulated-site.ts";

const { awaitVerification } = (await import("../../../infra/scripts/finish/mail.mjs" as string)) as {
  awaitVerification(context: object): Promise<string | undefined>;
};

const { closeCore } = (await import("../../../infra/scripts/finish/core.mjs" as string)) as {
  closeCore(context: object): void;
};

const environment = {
  AZURE_SUBSCRIPTION_ID: "s",
  AZURE_RESOURCE_GROUP: "rg-sample",
  MAIL_SERVICE_NAME: "mail",
  MAIL_DOMAIN_NAME: "keys.example.com",
};
const tell = () => {};

describe("waiting for the DNS records", () => {
  it("has Azure look again until it finds them, that of the domain first, and passes over a read that fails", async () => {
    const states: Record<string, string> = {
      Domain: "NotStarted",
      SPF: "NotStarted",
      DKIM: "NotStarted",
      DKIM2: "NotStarted",
    };
    const asked: string[] = [];
    let reads = 0;
    const az = (...words: readonly string[]) => {
      if (words[2] === "post") {
        const kind = String(JSON.parse(words.at(-1) ?? "").verificationType);
        states[kind] = asked.includes(kind) ? "Verified" : "VerificationFailed";
        asked.push(kind);
        return null;
      }
      reads++;
      const verificationStates = Object.fromEntries(Object.entries(states).map(([kind, status]) => [kind, { status }]));
      return reads === 2 ? undefined : { properties: { verificationStates } };
    };
    expect(await awaitVerification({ az, environment, tell, waitMs: 60_000, pauseMs: 1 })).toBeUndefined();
    expect(asked).toEqual(["Domain", "Domain", "SPF", "DKIM", "DKIM2", "SPF", "DKIM", "DKIM2"]);
  });

  it("ends after the time that was given, and names what is missing", async () => {
    const az = (...words: readonly string[]) => (words[2] === "post" ? null : { properties: {} });
    expect(await awaitVerification({ az, environment, tell, waitMs: 5, pauseMs: 1 })).toContain("DKIM2");
  });
});

interface Step {
  readonly title: string;
  left?(context: object): string | undefined;
  act(context: object): Promise<string | undefined>;
}
const { steps } = (await import("../../../infra/scripts/finish/steps.mjs" as string)) as {
  readonly steps: readonly Step[];
};
const act = (title: string, context: object) => steps.find(step => step.title === title)?.act({ tell, ...context });

describe("the secrets of peers", () => {
  const ofPeers = { ...environment, CONNECTOR_VAULT_NAME: "vault", IDPA_MANAGED_IDENTITY: "true" };

  it("are found on every page of the list of a vault", async () => {
    const az = (...words: readonly string[]) =>
      words.at(-1) === "https://next"
        ? { value: [{ name: "delivery-api-token" }] }
        : { value: [], nextLink: "https://next" };
    expect(await act("Secrets of peers", { az, environment: ofPeers })).toBeUndefined();
  });

  it("are not taken from the first line of a key, and the terminal is given back", async () => {
    const asked: string[] = [];
    const ask = async (text: string) => {
      asked.push(text);
      return "-----BEGIN PRIVATE KEY-----";
    };
    let isEnded = false;
    const endQuestions = () => {
      isEnded = true;
    };
    const az = () => ({ value: [] });
    await expect(act("Secrets of peers", { az, environment: ofPeers, ask, endQuestions })).rejects.toThrow(
      "comes from a file",
    );
    expect([asked.length, isEnded]).toEqual([1, true]);
  });

  it("are written without the newline at the end of a file of one line, after a date is asked for again", async () => {
    const directory = mkdtempSync(join(tmpdir(), "secret-test-"));
    writeFileSync(join(directory, "token"), "the token\n");
    const answers = [`@${join(directory, "token")}`, "-----never shown", "2099-01-31"];
    const told: string[] = [];
    const written: unknown[] = [];
    const az = (...words: readonly string[]) => {
      if (words[0] === "rest") return { value: written.length > 0 ? [{ name: "delivery-api-token" }] : [] };
      written.push(JSON.parse(readFileSync((words.at(-1) ?? "").slice(1), "utf8")).parameters.value.value);
      return {};
    };
    const context = { az, environment: ofPeers, ask: async () => answers.shift(), endQuestions: tell };
    expect(await act("Secrets of peers", { ...context, tell: (line: string) => told.push(line) })).toBeUndefined();
    rmSync(directory, { recursive: true });
    expect(written).toEqual(["the token"]);
    expect(told.join()).not.toContain("never shown");
  });
});

describe("the check of the peers", () => {
  const options = { users: [] };
  const times = { pauseMs: 1, callMs: 2000, healthMs: 20_000 };
  const az = () => undefined;

  it("waits for the connector, which a provision restarts", async () => {
    const site = await simulatedSite();
    site.health = [503, 503, 200];
    const context = { az, environment: { CONNECTOR_URL: `http://${site.host}` }, options, times };
    expect(await act("Peers", context)).toContain("master key");
    site.health = [503];
    const short = { ...context, times: { ...times, healthMs: 50 } };
    expect(await act("Peers", short)).toMatch(/the peers were not checked: GET .*\/health returns 503/);
  });

  it("is left out where that is asked for", async () => {
    const context = { az, environment: {}, options: { ...options, withoutPeers: true } };
    expect(await act("Peers", context)).toBeUndefined();
  });
});

describe("the file of several identity providers", () => {
  const address = "https://stconn1.blob.core.windows.net/configuration/idps.yaml";
  const ofSeveral = { IDP_ENABLE_MULTI_IDP: "true", IDP_CONFIGURATION_PATH: address };
  const leftOf = (exists: boolean | undefined, more: object = {}) => {
    const az = () => (exists === undefined ? undefined : { exists });
    return steps
      .find(({ title }) => title === "File of identity providers")
      ?.left?.({ az, environment: { ...ofSeveral, ...more } });
  };

  it("is missing until the storage has it, and whether it does is not checked where this machine is refused", () => {
    expect(leftOf(true)).toBeUndefined();
    const command = `az storage blob upload --auth-mode login --blob-url ${address} --file idps.yaml --overwrite`;
    expect(leftOf(false)).toMatch(/^write the file/);
    expect(leftOf(undefined)).toMatch(/^not checked/);
    for (const exists of [false, undefined]) expect(leftOf(exists)).toContain(command);
  });

  it("is not needed with one identity provider, or if it is part of the package", () => {
    expect(leftOf(false, { IDP_ENABLE_MULTI_IDP: "false" })).toBeUndefined();
    expect(leftOf(false, { IDP_CONFIGURATION_PATH: "idps.yaml" })).toBeUndefined();
  });

  it("is written from the file that is named", async () => {
    const calls: string[] = [];
    const az = (...words: readonly string[]) => {
      calls.push(words.join(" "));
      return words.includes("exists") ? { exists: false } : {};
    };
    const context = { az, environment: ofSeveral, options: { idpFile: "own.yaml" } };
    expect(await act("File of identity providers", context)).toBeUndefined();
    expect(calls.at(-1)).toBe(
      `storage blob upload --auth-mode login --blob-url ${address} --file own.yaml --overwrite`,
    );
    expect(await act("File of identity providers", { ...context, az: () => undefined })).toContain("was not written");
  });
});

describe("the end of the time in which Core can be reached over the internet", () => {
  const site = { ...environment, CORE_APP_NAME: "func-core" };
  const closed = (answer: unknown, more: object) => {
    const [kept, told, calls]: [object[], string[], string[]] = [[], [], []];
    const az = (...words: readonly string[]) => {
      calls.push(words.join(" "));
      return answer;
    };
    const context = { az, environment: { ...site, ...more }, tell: (line: string) => told.push(line) };
    const run = () => closeCore({ ...context, keep: (values: object) => kept.push(values) });
    return { kept, told, calls, run };
  };
  const range = { CORE_SETUP_RANGE: "203.0.113.7/32" };

  it("is kept only once Azure has closed the app, so that the command can be repeated", () => {
    const refused = closed(undefined, range);
    expect(refused.run).toThrow("Core was not closed: repeat this command");
    expect(refused.kept).toEqual([]);
    const done = closed({ properties: { publicNetworkAccess: "Disabled" } }, range);
    done.run();
    expect(done.kept).toEqual([{ CORE_SETUP_RANGE: "" }]);
  });

  it("changes nothing where Core is closed, or is a trial, which would be closed to everybody", () => {
    for (const more of [{ CORE_SETUP_RANGE: "" }, { ...range, TRIAL: "true" }]) {
      const nothing = closed(undefined, more);
      nothing.run();
      expect([nothing.calls, nothing.kept, nothing.told.length]).toEqual([[], [], 1]);
    }
  });
});
