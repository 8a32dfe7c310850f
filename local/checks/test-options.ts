// What `npm test` and `npm run check` are asked to do.
import { globSync } from "node:fs";
import { parseArgs } from "node:util";

const usage = `npm test                       every check, the dependency audit and every test: what CI runs
npm test -- --fast             every check, and the tests without those that take long:
                               no killed hosts, no browser, no whole system, no file of three seconds of CPU
npm test -- --changed          only tests that import a file changed since the last commit; no checks
npm test -- --changed=<commit> … since that commit. Not found: tests that reach the file through a process
npm test -- <path> …           only test files whose path contains one of these; no checks
Options:
  -t, --testNamePattern <text>  only tests whose name contains the text (a regular expression)
  -h, --help                    prints this`;

/** Name of the environment variable by which vitest.config.ts leaves out the slow tests; its projects ignore `--exclude`. */
export const fastVariable = "FAST_TESTS";

/**
 * Left out by `--fast`: tests that kill hosts, use a browser, start whole systems or go through an exhaustive table,
 * and every other file that takes more than about three seconds of CPU. The fast run then takes about three minutes of
 * CPU, less than two on two cores.
 */
export const slowTests: readonly string[] = [
  "test/checks/cut.test.ts",
  "test/commands/{api-tokens,help,operator-commands,console/*,import/import-otpkeys}.test.ts",
  "test/crash/**",
  "test/docs/{guides.test.ts,examples/**}",
  "test/functions/{call-events,header-bytes,maintenance,proxy,rotation}.test.ts",
  "test/functions/auth/{audit-half-way,awkward,random-input}.test.ts",
  "test/functions/auth/client/{foreign-otp,otp,outage,remote-otp,sign-in,throttle}.test.ts",
  "test/functions/auth/core/{attributes,import-otpkeys,users}.test.ts",
  "test/functions/auth/start/maintenance-tasks.test.ts",
  "test/functions/connector/{endpoints,idempotency-key,on-site,violations}.test.ts",
  "test/functions/connector/start/{idp-credentials,multi-idp}.test.ts",
  "test/functions/openapi/{documented-statuses,examples,openapi-documents,tools}.test.ts",
  "test/functions/telemetry/**",
  "test/host/**",
  "test/infra/{azd,queries,registration}/*.test.ts",
  "test/infra/compiler.test.ts",
  "test/lib/auth/{sessions,users,protocols}.test.ts",
  "test/lib/platform/maintenance/**",
  "test/lib/platform/azure/tables.test.ts",
  "test/lib/connector/{activate,cancel,collect,jobs,recovery}/**",
  "test/lib/connector/create/{create-*,enroll,round-trips,secrets-and-size}.test.ts",
  "test/lib/connector/api/{body-to-draft,list-requests,v1-shipment}.test.ts",
  "test/lib/connector/pin/{on-site-pin,resend-pin,send-pin-mail}.test.ts",
  "test/local/checks/{audit,verify}.test.ts",
  "test/local/peers/{delivery/control,enrollment/rfpr,storage/{storage,failed-saves}}.test.ts",
  "test/local/run.test.ts",
  "test/local/{console,demo,package,start}/**",
  "test/patterns.test.ts",
];

export interface Plan {
  readonly checks: boolean;
  /** Arguments of the test runner. */
  readonly tests: readonly string[];
  /** Whether slow tests are left out. */
  readonly isFast: boolean;
  /** Only tests of some names. */
  readonly isFiltered: boolean;
}

/** Reads the arguments. Returns the usage text for `--help`. Throws an error if the options contradict each other. */
export function readOptions(args: readonly string[]): Plan | string {
  const { values, positionals } = parseArgs({
    // An option without a value: parseArgs knows no optional ones.
    args: args.map(arg => (arg === "--changed" ? "--changed=HEAD" : arg)),
    options: {
      checks: { type: "boolean" },
      fast: { type: "boolean" },
      changed: { type: "string" },
      testNamePattern: { type: "string", short: "t" },
      help: { type: "boolean", short: "h" },
    },
    allowPositionals: true,
  });
  const { checks = false, fast = false, changed, testNamePattern, help = false } = values;
  if (help) return usage;
  const kinds = [checks, fast, changed !== undefined, positionals.length > 0].filter(Boolean).length;
  if (kinds > 1) throw new Error("--fast, --changed and paths exclude each other.");
  const files = positionals.length === 0 ? [] : globSync("test/**/*.test.ts").map(file => file.replaceAll("\\", "/"));
  const unknown = positionals.find(path => !files.some(file => file.includes(path.replace(/^\.\//, ""))));
  if (unknown !== undefined) throw new Error(`No test file has ${unknown} in its path.`);
  const isFiltered = testNamePattern !== undefined;
  const named = isFiltered ? ["--testNamePattern", testNamePattern] : [];
  const some = { isFast: fast, isFiltered };
  if (checks) return { ...some, checks: true, tests: ["test/architecture.test.ts"] };
  if (fast) return { ...some, checks: true, tests: named };
  if (changed !== undefined)
    return { ...some, checks: false, tests: ["--changed", changed, "--passWithNoTests", ...named] };
  const isWhole = positionals.length === 0 && !isFiltered;
  return { ...some, checks: isWhole, tests: [...positionals, ...named] };
}
