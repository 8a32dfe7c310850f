// Times of logins that are refused, by what is wrong with them: they must reveal nothing (decision A4). See README.md.
import { parseArgs } from "node:util";
import { machine, quantile, table } from "./auth/load.ts";
import { password } from "./auth/password.ts";
import { type BenchUser, startBench } from "./auth/system.ts";

const { values } = parseArgs({ options: { samples: { type: "string", default: "500" } } });

/** Attempts of one name, below what locks it and stops its key. */
const perName = 90;
const bench = await startBench({ settings: { AUTH_THROTTLE_FAILURES: "100" } });

/**
 * What is wrong with a login. Within a group the same fields are sent, so that only the time could distinguish them.
 */
interface Wrong {
  readonly name: string;
  /** No user has the username. */
  readonly unknown?: boolean;
  readonly keyless?: boolean;
  readonly fields: (user: BenchUser) => Readonly<Record<string, string>>;
}

const another = "a wrong password";
const groups: readonly { readonly sent: string; readonly all: readonly [Wrong, ...Wrong[]] }[] = [
  {
    sent: "a password",
    all: [
      { name: "unknown user", unknown: true, fields: () => ({ password: another }) },
      { name: "wrong password, user without key", keyless: true, fields: () => ({ password: another }) },
      { name: "wrong password, user with key", fields: () => ({ password: another }) },
      { name: "right password, OTP missing", fields: () => ({ password }) },
    ],
  },
  {
    sent: "a password and an OTP",
    all: [
      { name: "unknown user", unknown: true, fields: user => ({ password: another, otp: user.wrongOtp() }) },
      { name: "wrong password, wrong OTP", fields: user => ({ password: another, otp: user.wrongOtp() }) },
      { name: "right password, wrong OTP", fields: user => ({ password, otp: user.wrongOtp() }) },
    ],
  },
];

let made = 0;

/** All users have names of one length, and all have a key but those who shall not. */
async function userFor({ unknown, keyless }: Wrong): Promise<BenchUser> {
  const number = String(1000 + made++);
  const prefix = `ccccc${number.replaceAll(/\d/g, digit => "cbdefghijk"[Number(digit)] ?? "")}`;
  const user = await bench.user(`person${number}`, keyless === true ? undefined : prefix);
  return unknown === true ? { ...user, username: `nobody${number}` } : user;
}

/** By turns in a new order each time, one after another, so that other load affects all alike. */
async function measure(all: readonly Wrong[]): Promise<ReadonlyMap<Wrong, readonly number[]>> {
  const times = new Map(all.map(wrong => [wrong, [] as number[]]));
  while ((times.get(all[0] as Wrong)?.length ?? 0) < Number(values.samples)) {
    const users = new Map<Wrong, BenchUser>();
    for (const wrong of all) users.set(wrong, await userFor(wrong));
    for (let attempt = 0; attempt < perName; attempt++) {
      for (const wrong of shuffled(all)) {
        const user = users.get(wrong) as BenchUser;
        const form = { username: user.username, ...wrong.fields(user) };
        const { status, ms, text } = await bench.send("/client/login", { method: "POST", form });
        if (status !== 401) throw new Error(`${wrong.name}: answered ${status}: ${text}`);
        // The first attempt of any name makes rows that the others find.
        if (attempt > 0) times.get(wrong)?.push(ms);
      }
    }
  }
  return times;
}

const shuffled = <T>(all: readonly T[]): readonly T[] =>
  all
    .map(one => ({ one, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);

/**
 * How often one of `values` is greater than one of `others`, 0.5 where they are alike, and by how many standard deviations that
 * differs from alike (Mann and Whitney's test).
 */
function comparison(values: readonly number[], others: readonly number[]): { share: number; deviations: number } {
  const ranked = [...values.map(value => ({ value, own: true })), ...others.map(value => ({ value, own: false }))].sort(
    (a, b) => a.value - b.value,
  );
  const rankSum = ranked.reduce((sum, { own }, index) => (own ? sum + index + 1 : sum), 0);
  const [n, m] = [values.length, others.length];
  const greater = rankSum - (n * (n + 1)) / 2;
  return { share: greater / (n * m), deviations: (greater - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12) };
}

const shares = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99];

for (const { sent, all } of groups) {
  const times = await measure(all);
  const first = times.get(all[0]) ?? [];
  const rows = [...times].map(([{ name }, own]) => {
    const { share, deviations } = comparison(own, first);
    const like = own === first ? ["", ""] : [share.toFixed(3), deviations.toFixed(1)];
    return [name, String(own.length), ...shares.map(at => quantile(own, at).toFixed(1)), ...like];
  });
  const head = [
    `${sent} is sent`,
    "logins",
    ...shares.map(at => `p${at * 100} ms`),
    "slower than unknown",
    "deviations",
  ];
  console.log(`${table([head, ...rows])}\n`);
}
console.log(machine());
await bench.stop();
