import * as z from "zod";
import { refusalOf } from "../api.ts";
import { type Answered, type Ask, ImportStopped } from "./calls.ts";
import type { ImportKey } from "./formats/parsed-lines.ts";
import type { Line } from "./lines.ts";
import { plain } from "./screen.ts";

const keyList = z.array(z.object({ prefix: z.string() }));
const keyView = z.object({ prefix: z.string() });

/** Checks before any secret is sent that this is a Core API and that it accepts the token. Throws `ImportStopped`. */
export async function checkCore(ask: Ask): Promise<void> {
  const answer = await ask("GET", "/otpkeys?%24top=1");
  if (answer === undefined || (answer.status === 200 && keyList.safeParse(answer.body).success)) return;
  throw stoppedBy(answer);
}

/**
 * Sends an OTP key (A10). With `replace`, sends it first without and after a 409 with `replace`, to distinguish `replaced` from `present`.
 * Throws `ImportStopped` for a failure that every other key would have too.
 */
export async function sendKey(
  key: ImportKey,
  { replace }: { readonly replace: boolean },
  ask: Ask,
): Promise<Pick<Line, "outcome" | "reason">> {
  const fields = importFields(key);
  const answer = await ask("POST", "/otpkeys", fields);
  if (answer?.status !== 409 || !replace) return resultOf(answer, key, "present");
  return resultOf(await ask("POST", "/otpkeys", { ...fields, replace: true }), key, "replaced");
}

const importFields = ({ prefix, kind, secret, privateId, ...rest }: ImportKey) => ({
  prefix,
  kind,
  secret: secret && hex(secret),
  private_id: privateId && hex(privateId),
  digits: rest.digits,
  counter: rest.counter,
  period: rest.period,
  algorithm: rest.algorithm,
  valid_from: rest.validFrom,
  valid_until: rest.validUntil,
  username: rest.username,
});

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function resultOf(answer: Answered | undefined, key: ImportKey, found: "present" | "replaced") {
  if (answer === undefined) return { outcome: "open", reason: "no response" } as const;
  switch (answer.status) {
    case 200:
    case 201:
      if (keyView.safeParse(answer.body).data?.prefix !== key.prefix) break;
      return { outcome: answer.status === 201 ? "imported" : found, reason: "" } as const;
    case 400:
      return { outcome: "refused", reason: `Core responded: ${withoutSecrets(refusalOf(answer), key)}` } as const;
    case 409:
      return { outcome: "refused", reason: "Core has another secret for its prefix: see --replace" } as const;
    case 500:
      return { outcome: "failed", reason: "Core failed at it (500)" } as const;
  }
  throw stoppedBy(answer);
}

/** Removes the key's secret from a text: a proxy's error page might quote the request. */
function withoutSecrets(text: string, { secret, privateId }: ImportKey): string {
  const quoted = [secret, privateId].some(bytes => bytes && text.toLowerCase().includes(hex(bytes)));
  return quoted ? "a text that quotes the secret" : plain(text);
}

function stoppedBy({ status }: Pick<Answered, "status">): ImportStopped {
  const reasons: Readonly<Record<number, string>> = {
    401: "the token is refused (401): it is wrong, expired or revoked",
    403: "the token has no access (403): it must have the role Core.Admin, or be an API token of Core",
    404: "there is no Core API at this address (404), which ends in Core's path, as in https://core.example.com/core",
  };
  const other = status < 300 ? "the service at this address is not a Core API" : `the address responds with ${status}`;
  return new ImportStopped(reasons[status] ?? other);
}
