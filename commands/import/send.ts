import type { Client } from "openapi-fetch";
import * as z from "zod";
import type { OtpKeyImport, paths } from "../../docs/openapi/core.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import { type ApiAnswer, refusalOf } from "../api.ts";
import { type Answered, type Ask, ImportStopped } from "./calls.ts";
import type { ImportKey } from "./formats/check-key.ts";
import type { Outcome } from "./lines.ts";
import type { Sent } from "./run-import.ts";
import { plain } from "./screen.ts";
import type { ImportUser } from "./users/imported-user.ts";

const keyList = z.array(z.object({ prefix: z.string() }));
const results = z.object({
  results: z.array(
    z.object({
      index: z.int(),
      prefix: z.string().optional(),
      status: z.union([200, 201, 400, 403, 409, 500].map(status => z.literal(status))),
      error: z.string().optional(),
      problems: z.array(z.object({ field: z.string() })).default([]),
    }),
  ),
});
type Result = z.output<typeof results>["results"][number];

/** Core, and how it is called. */
export interface Core {
  readonly api: Client<paths>;
  readonly ask: Ask;
}

/** Checks before any secret is sent that this is a Core API and that it accepts the token. Throws `ImportStopped`. */
export async function checkCore({ api, ask }: Core): Promise<void> {
  const answer = await ask(signal => api.GET("/core/otpkeys", { params: { query: { $top: 1 } }, signal }));
  if (answer === undefined || (answer.status === 200 && keyList.safeParse(answer.body).success)) return;
  throw stoppedBy(answer);
}

/** Maximum number of OTP keys or users in a call. */
export const maxBatch = 100;

interface Batch {
  readonly count: number;
  readonly call: (signal: AbortSignal) => Promise<ApiAnswer>;
  /** The prefixes that the results must have, if any. */
  readonly prefixes?: readonly string[];
  readonly secrets: readonly (string | undefined)[];
  /** Returns the outcome of an element with another status than 500. */
  readonly outcomeOf: (result: Result, index: number) => Sent;
}

interface SentElement extends Sent {
  /** Absent if the call had no result for the element. */
  readonly status?: number;
}

/** Sends a batch in one call. Throws `ImportStopped` for a failure that every other element would have too. */
async function sendBatch(
  ask: Ask,
  { count, call, prefixes, secrets, outcomeOf }: Batch,
): Promise<readonly SentElement[]> {
  const answer = await ask(call);
  const all = (outcome: Outcome, reason: string) => Array.from({ length: count }, () => ({ outcome, reason }));
  if (answer === undefined) return all("open", "no response");
  const { status, body } = answer;
  if (status === 500) return all("failed", failed);
  if (status === 400 || status === 413) return all("refused", responded(refusalOf(status, body), secrets));
  const found = status === 200 ? (results.safeParse(body).data?.results ?? []) : [];
  const isOf = ({ index, prefix }: Result, position: number) =>
    index === position && (prefix ?? prefixes?.[position]) === prefixes?.[position];
  if (found.length !== count || !found.every(isOf)) throw stoppedBy(answer);
  return found.map((result, index): SentElement => {
    const { status } = result;
    return { status, ...(status === 500 ? { outcome: "failed", reason: failed } : outcomeOf(result, index)) };
  });
}

const failed = "Core failed at it (500)";

/** Returns a reason with a text of a response, without secrets: a proxy's error page might quote the request. */
function responded(text: string, secrets: Batch["secrets"]): string {
  const lower = text.toLowerCase();
  const quotes = secrets.some(secret => secret && lower.includes(secret.toLowerCase()));
  return `Core responded: ${quotes ? "a text that quotes a secret" : plain(text)}`;
}

const refusedBy = ({ status, error }: Result, secrets: Batch["secrets"]): Sent => ({
  outcome: "refused",
  reason: responded(refusalOf(status, { error }), secrets),
});

/**
 * Sends OTP keys in one call (A10). With `replace`, sends those with the status 409 once more with `replace`, to
 * distinguish `replaced` from `present`. Throws `ImportStopped`.
 */
export async function sendKeys(
  keys: readonly ImportKey[],
  { replace }: { readonly replace: boolean },
  core: Core,
): Promise<readonly Sent[]> {
  const sent = await sendKeysOnce(keys, { replace: false }, core);
  const inConflict = keys.filter((_, index) => replace && sent[index]?.status === 409);
  if (inConflict.length === 0) return sent;
  const again = await sendKeysOnce(inConflict, { replace }, core);
  return keys.map((key, index) => (again[inConflict.indexOf(key)] ?? sent[index]) as Sent);
}

const sendKeysOnce = (
  keys: readonly ImportKey[],
  { replace }: { readonly replace: boolean },
  { api, ask }: Core,
): Promise<readonly SentElement[]> => {
  const otpkeys = keys.map(key => ({ ...importFields(key), ...(replace && { replace }) }));
  const secrets = otpkeys.flatMap(({ secret, private_id: privateId }) => [secret, privateId]);
  return sendBatch(ask, {
    count: keys.length,
    call: signal => api.POST("/core/otpkeys/batch", { body: { otpkeys }, signal }),
    prefixes: keys.map(({ prefix }) => prefix),
    secrets,
    outcomeOf: result => {
      const { status } = result;
      if (status === 409)
        return { outcome: "refused", reason: "Core has another secret for its prefix: see --replace" };
      if (status > 201) return refusedBy(result, secrets);
      return { outcome: status === 201 ? "imported" : replace ? "replaced" : "present", reason: "" };
    },
  });
};

const importFields = ({ prefix, kind, secret, privateId, ...rest }: ImportKey) => ({
  prefix,
  kind,
  ...omitUndefined({
    secret: secret && hex(secret),
    private_id: privateId && hex(privateId),
    digits: rest.digits as OtpKeyImport["digits"],
    counter: rest.counter,
    period: rest.period as OtpKeyImport["period"],
    algorithm: rest.algorithm as OtpKeyImport["algorithm"],
    drift: rest.drift,
    valid_from: rest.validFrom,
    valid_until: rest.validUntil,
    username: rest.username,
  }),
});

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Sends users in one call (A25). Throws `ImportStopped`. */
export async function sendUsers(users: readonly ImportUser[], { api, ask }: Core): Promise<readonly Sent[]> {
  const body = { users: users.map(({ note: _, ...user }) => ({ ...user, otpkeys: [...user.otpkeys] })) };
  return sendBatch(ask, {
    count: users.length,
    call: signal => api.POST("/core/users/batch", { body, signal }),
    secrets: users.flatMap(({ password, password_hash: hash }) => [password, hash]),
    outcomeOf: (result, index) => {
      const { status } = result;
      const fields = result.problems.map(({ field }) => plain(field)).join(", ");
      if (status === 409) return { outcome: "refused", reason: `Core has a user of this name with another ${fields}` };
      // Core quotes no password, and a common one is a word of its answer.
      if (status > 201) return refusedBy(result, []);
      return { outcome: status === 201 ? "imported" : "present", reason: users[index]?.note ?? "" };
    },
  });
}

/** Returns the error of a response that every other call would get too. */
function stoppedBy({ status }: Pick<Answered, "status">): ImportStopped {
  const reasons: Readonly<Record<number, string>> = {
    401: "the token is refused (401): it is wrong, expired or revoked",
    403: "the token has no access (403): it must have the role Core.Admin, or be an API token of Core",
    404: "there is no Core API at this address (404), which ends in Core's path, as in https://core.example.com/core",
  };
  const other = status < 300 ? "the service at this address is not a Core API" : `the address responds with ${status}`;
  return new ImportStopped(reasons[status] ?? other);
}
