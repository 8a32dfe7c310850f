import type { TokenHashes } from "../http/authenticate/api-tokens.ts";
import { between, hours, type Instant } from "../time.ts";
import type { CacheOptions } from "./cached-secret.ts";
import type { Secrets } from "./secrets.ts";
import { tokenHashOf } from "./token-versions.ts";

/** After an attempt, this process makes no other one for the token on the same day for this time. */
const retryAfterMs = hours(1);

/**
 * Returns a function that records the day of a token's last use in the tags of its version. Reads the tags again
 * before it writes them, so that of many hosts usually one writes on a day. Hosts that write at the same time write the
 * same day. A version that is revoked meanwhile stays disabled.
 */
export function createUseRecorder(
  secrets: Secrets,
  name: string,
  { now, log }: Pick<CacheOptions, "now" | "log">,
): TokenHashes["recordUse"] {
  const tried = new Map<string, Instant>();

  const record = async (id: string, day: string) => {
    const versions = (await secrets.versions(name)).filter(version => {
      const hash = tokenHashOf(version);
      return hash?.id === id && (hash.lastUsedOn ?? "") < day;
    });
    await Promise.all(
      versions.map(({ version, tags }) => secrets.setTags(name, version, { ...tags, lastUsedOn: day })),
    );
  };

  return ({ id, lastUsedOn = "" }) => {
    const time = now();
    const day = time.slice(0, 10);
    const last = tried.get(id);
    const wasTried = last?.startsWith(day) === true && between(last, time) < retryAfterMs;
    if (lastUsedOn >= day || wasTried) return;
    tried.set(id, time);
    record(id, day).catch((error: unknown) => log.warn("api_token_use_unrecorded", { secret: name, id, error }));
  };
}
