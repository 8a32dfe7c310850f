import { describe, expect, it } from "vitest";
import {
  BadSettings,
  combineReads,
  type Environment,
  effectiveSettings,
  misspeltSettings,
  readSettings,
  settingsSchema,
} from "../../../../lib/platform/settings/read-settings.ts";
import { type Setting, setting } from "../../../../lib/platform/settings/setting.ts";
import { describeSettings } from "../../../../local/generate/describe-settings.ts";

const read = (it: Setting<unknown>, value?: string): unknown =>
  (readSettings(settingsSchema({ IT: it }), { IT: value }) as { IT?: unknown }).IT;

const problemsOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    if (error instanceof BadSettings) return error;
    throw error;
  }
  throw new Error("the settings are good");
};

const noAddress = "must be an https address (http only on the loopback), without credentials";

describe("a single setting", () => {
  it.each<[string, Setting<unknown>, string, unknown]>([
    ["text", setting.text(""), " as is ", " as is "],
    ["one of several", setting.oneOf(["a", "b"], ""), "b", "b"],
    ["a flag", setting.flag(""), "true", true],
    ["a flag that is off", setting.flag(""), "false", false],
    ["a list, blanks dropped", setting.list(""), " a, ,b,", ["a", "b"]],
    ["a whole number", setting.integer(0, 10, ""), "010", 10],
    ["seconds", setting.seconds(""), "0.25", 0.25],
    ["days", setting.days(""), "2", 2],
    ["the most days", setting.days(""), "36500", 36_500],
    [
      "an address without the slash at its end",
      setting.address(""),
      "https://vault.example/a//",
      "https://vault.example/a",
    ],
    ["a schedule", setting.schedule(""), " 0  */5 * * * Mon-Fri ", "0 */5 * * * Mon-Fri"],
  ])("takes %s", (_, schema, words, value) => {
    expect(read(schema, words)).toEqual(value);
  });

  it.each<[string, Setting<unknown>, string, string]>([
    ["a choice", setting.oneOf(["a", "b"], ""), "A", "must be one of a, b"],
    ["a flag", setting.flag(""), "yes", "must be true or false"],
    ["a number", setting.integer(1, 5, ""), "1.5", "must be a whole number from 1 to 5"],
    ["too great a number", setting.integer(1, 5, ""), "6", "must be a whole number from 1 to 5"],
    ["a negative number", setting.integer(-1, 5, ""), "-1", "must be a whole number from -1 to 5"],
    ["a time", setting.seconds(""), "1m", "must be a number of seconds"],
    ["a negative time", setting.days(""), "-1", "must be a number of days"],
    ["a time that ends after the year 9999", setting.days(""), "36500.001", "must be at most 36500 days"],
    ["an address", setting.address(""), "vault", noAddress],
    ["an open address", setting.address(""), "http://vault.example", noAddress],
    ["an address with a password", setting.address(""), "https://:b@vault.example", noAddress],
    ["an address with a user", setting.address(""), "https://a@vault.example", noAddress],
    ["an address with a fragment", setting.address(""), "https://vault.example#a", noAddress],
    ["a schedule", setting.schedule(""), "*/5 * * * *", "must be a cron expression of six fields, seconds first"],
  ])("says what is expected of %s", (_, schema, words, reason) => {
    expect(problemsOf(() => read(schema, words)).problems).toEqual([{ path: "IT", reason }]);
  });

  it.each([undefined, "", "  "])("that is %j counts as unset", words => {
    expect(problemsOf(() => read(setting.text(""), words)).problems).toEqual([{ path: "IT", reason: "must be set" }]);
    expect(read(setting.text("").optional(), words)).toBeUndefined();
    expect(read(setting.seconds("").withDefault("2"), words)).toBe(2);
  });

  it("accepts http only on the loopback, by the names that the clients of storage and vault accept", () => {
    const taken = (host: string) => setting.address("").parse(`http://${host}`).ok;
    for (const host of ["127.0.0.1", "localhost", "127.0.0.1:7071"]) expect(taken(host)).toBe(true);
    for (const host of ["127.0.0.1.example", "10.0.0.1", "localhost.example", "[::1]"]) expect(taken(host)).toBe(false);
  });
});

describe("a misspelt setting", () => {
  const schema = settingsSchema({
    EMAIL_SENDER_ADDRESS: setting.text(""),
    PIN_MAIL_DOMAINS: setting.list("").withDefault(""),
    PROXY_ID: setting.text("").optional(),
  });

  it.each([
    ["PIN_MAIL_DOMAIN", "PIN_MAIL_DOMAINS"],
    ["PROXI_ID", "PROXY_ID"],
    ["email_sender_address", "EMAIL_SENDER_ADDRESS"],
  ])("%s is named with the nearest setting, unless it is empty", (name, nearest) => {
    expect(misspeltSettings([schema], { [name]: "a", PATH: "/bin" })).toEqual([{ setting: name, nearest }]);
    expect(misspeltSettings([schema], { [name]: " " })).toEqual([]);
  });

  it("is not a setting of one schema that resembles a setting of another one, or a variable of the platform", () => {
    const other = settingsSchema({ PROXY_IDS: setting.text(""), WEBSITE_PATH: setting.text("") });
    const environment = { PROXY_ID: "1", PROXY_IDS: "1", WEBSITE_PATHS: "/" };
    expect(misspeltSettings([schema, other], environment)).toEqual([]);
  });

  it("is named in the problem of the setting that must be set", () => {
    const misspelt = { EMAIL_SENDER_ADRESS: "a", PROXY_ID: "b" };
    expect(problemsOf(() => readSettings(schema, misspelt)).problems).toEqual([
      { path: "EMAIL_SENDER_ADDRESS", reason: "must be set; EMAIL_SENDER_ADRESS is set, but is not a setting" },
    ]);
  });
});

describe("all problems are reported in one message", () => {
  const storage = settingsSchema({ VAULT: setting.address(""), DAYS: setting.days("") });
  const mail = settingsSchema({ SENDER: setting.text(""), WAIT: setting.seconds("").withDefault("1") });
  const environment: Environment = { DAYS: "seven secret words", WAIT: "soon" };

  it("over one schema and over several", () => {
    const bad = problemsOf(() =>
      combineReads(
        () => readSettings(storage, environment),
        () => readSettings(mail, environment),
      ),
    );
    expect(bad.message).toBe(
      "Invalid settings:\n  VAULT: must be set\n  DAYS: must be a number of days\n  SENDER: must be set\n  WAIT: must be a number of seconds",
    );
    expect(bad.problems).toHaveLength(4);
  });

  it("with those between settings, but none of a setting that is wrong by itself", () => {
    const schema = settingsSchema(
      { FROM: setting.days("").optional(), UNTIL: setting.days("").optional(), SENDER: setting.text("").optional() },
      given => ["FROM", "UNTIL", "SENDER"].map(path => ({ path, reason: path in given ? "is set" : "is not set" })),
    );
    expect(problemsOf(() => readSettings(schema, { FROM: "1", UNTIL: "soon" })).problems).toEqual([
      { path: "UNTIL", reason: "must be a number of days" },
      { path: "FROM", reason: "is set" },
      { path: "SENDER", reason: "is not set" },
    ]);
  });

  it("without the values, which may be secrets", () => {
    const bad = problemsOf(() => readSettings(storage, environment));
    expect(`${bad.message} ${bad.stack} ${JSON.stringify(bad)}`).not.toContain("secret");
  });

  it("and valid settings are returned", () => {
    const [first, second] = combineReads(
      () => ({ a: 1 }),
      () => undefined,
    );
    expect([first.a, second]).toEqual([1, undefined]);
  });

  it("and passes on any other error", () => {
    expect(() =>
      combineReads(() => {
        throw new TypeError("bug");
      }),
    ).toThrow(TypeError);
  });
});

describe("the messages for an administrator", () => {
  const schema = settingsSchema({
    NAMES: setting
      .list("Names.")
      .refine(names => names.length < 3, "must be two")
      .transform(names => new Set(names))
      .withDefault("a"),
    WAIT: setting.seconds("Wait.").optional(),
    VAULT: setting.address("Vault."),
  });

  it("is every setting with its default and whether it must be set", () => {
    expect(describeSettings(schema)).toEqual([
      { name: "NAMES", description: "Names.", defaultText: "a", required: false },
      { name: "WAIT", description: "Wait.", defaultText: undefined, required: false },
      { name: "VAULT", description: "Vault.", defaultText: undefined, required: true },
    ]);
  });

  it("has the effective text: the given value, else the default, else an empty text", () => {
    expect(effectiveSettings(schema, { NAMES: " ", WAIT: " 2 ", OTHER: "x" })).toEqual({
      NAMES: "a",
      WAIT: "2",
      VAULT: "",
    });
  });
});
