import type { Client } from "openapi-fetch";
import * as z from "zod";
import type { OtpKeyImport, paths } from "../../docs/openapi/core.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import { refusalOf } from "../api.ts";
import { type Answered, type Ask, ImportStopped } from "./calls.ts";
import type { ImportKey } from "./formats/parsed-lines.ts";
import type { Sent } from "./run-import.ts";
import { plain } from "./screen.ts";

const keyList = z.array(z.object({ prefix: z.string() }));
const results = z.object({
  results: z.array(
    z.object({
      index: z.int(),
      prefix: z.string().optional(),
      status: z.union([200, 201, 400, 403, 409, 500].map(status => z.literal(status))),
      error: z.string().optional(),
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

/** Maximum number of OTP keys in a call. */
export const maxBatch = 100;

/**
 * Sends OTP keys in one call (A10). With `replace`, sends those with the status 409 once more with `replace`, to
 * distinguish `replaced` from `present`. Throws `ImportStopped` for a failure that every other key would have too.
 */
export async function sendKeys(
  keys: readonly ImportKey[],
  { replace }: { readonly replace: boolean },
  core: Core,
): Promise<readonly Sent[]> {
  const sent = await sendBatch(keys, { replace: false }, core);
  const inConflict = [...keys.keys()].filter(index => replace && sent[index]?.status === 409);
  if (inConflict.length === 0) return sent;
  const again = await sendBatch(
    inConflict.map(index => keys[index] as ImportKey),
    { replace },
    core,
  );
  return sent.map((each, index) => again[inConflict.indexOf(index)] ?? each);
}

interface SentKey extends Sent {
  /** Absent if the call had no result for the key. */
  readonly status?: number;
}

async function sendBatch(
  keys: readonly ImportKey[],
  { replace }: { readonly replace: boolean },
  { api, ask }: Core,
): Promise<readonly SentKey[]> {
  const otpkeys = keys.map(key => ({ ...importFields(key), ...(replace && { replace }) }));
  const answer = await ask(signal => api.POST("/core/otpkeys/batch", { body: { otpkeys }, signal }));
  if (answer === undefined) return keys.map(() => ({ outcome: "open", reason: "no response" }));
  if (answer.status === 500) return keys.map(() => ({ outcome: "failed", reason: "Core failed at it (500)" }));
  if (answer.status === 400)
    return keys.map(() => ({ outcome: "refused", reason: responded(refusalOf(answer.status, answer.body), keys) }));
  const parsed = answer.status === 200 ? results.safeParse(answer.body).data?.results : undefined;
  const isComplete =
    parsed?.length === keys.length &&
    parsed.every(
      ({ index, prefix }, position) => index === position && (prefix ?? keys[index]?.prefix) === keys[index]?.prefix,
    );
  if (parsed === undefined || !isComplete) throw stoppedBy(answer);
  const found = replace ? "replaced" : "present";
  return parsed.map(result => ({ status: result.status, ...resultOf(result, keys, found) }));
}

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

function resultOf({ status, error }: Result, keys: readonly ImportKey[], found: "present" | "replaced"): Sent {
  switch (status) {
    case 201:
      return { outcome: "imported", reason: "" };
    case 200:
      return { outcome: found, reason: "" };
    case 409:
      return { outcome: "refused", reason: "Core has another secret for its prefix: see --replace" };
    case 500:
      return { outcome: "failed", reason: "Core failed at it (500)" };
    default:
      return { outcome: "refused", reason: responded(refusalOf(status, { error }), keys) };
  }
}

/** Returns a reason with a text of a response, without the secrets of the keys: a proxy's error page might quote the request. */
function responded(text: string, keys: readonly ImportKey[]): string {
  const lower = text.toLowerCase();
  const quotes = keys.some(({ secret, privateId }) =>
    [secret, privateId].some(bytes => bytes && lower.includes(hex(bytes))),
  );
  return `Core responded: ${quotes ? "a text that quotes the secret" : plain(text)}`;
}

/** Returns the error of a response that every other call would get too. */
export function stoppedBy({ status }: Pick<Answered, "status">): ImportStopped {
  const reasons: Readonly<Record<number, string>> = {
    401: "the token is refused (401): it is wrong, expired or revoked",
    403: "the token has no access (403): it must have the role Core.Admin, or be an API token of Core",
    404: "there is no Core API at this address (404), which ends in Core's path, as in https://core.example.com/core",
  };
  const other = status < 300 ? "the service at this address is not a Core API" : `the address responds with ${status}`;
  return new ImportStopped(reasons[status] ?? other);
}
