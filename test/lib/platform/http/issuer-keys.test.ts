import { generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Fault } from "../../../../lib/platform/fault.ts";
import { createBearerCheck } from "../../../../lib/platform/http/bearer.ts";
import { createLog } from "../../../../lib/platform/log.ts";
import { days, instant, minutes, seconds } from "../../../../lib/platform/time.ts";
import { startTokenIssuer, type TokenIssuer } from "../../../../local/peers/issuer/token-issuer.ts";

const audience = "api://connector";
const role = "Connector.Call";
let issuer: TokenIssuer;
/** A little ahead: a token that is minted in the test is valid from its second on. */
let startedAt: number;
let later: number;
let isAway: boolean;
/** Number of reads of the keys. */
let reads: number;
let lines: string[];

beforeAll(async () => {
  issuer = await startTokenIssuer();
});
beforeEach(() => {
  startedAt = Date.now() + 60_000;
  [later, isAway, reads, lines] = [0, false, 0, []];
});
afterAll(() => issuer.close());

const mint = () => issuer.mint({ audience, roles: [role], azp: "app", expiresInSeconds: days(3) / seconds(1) });

/** A token whose key has an id that the issuer does not publish. */
async function mintUnknown(): Promise<string> {
  const { privateKey } = await generateKeyPair("RS256");
  return new SignJWT({ roles: [role], azp: "app" })
    .setProtectedHeader({ alg: "RS256", kid: "unknown" })
    .setIssuer(issuer.issuer)
    .setAudience(audience)
    .setExpirationTime("3d")
    .sign(privateKey);
}

/** A host that has read the keys, if `knows`. */
async function startHost({ knows = true } = {}) {
  const check = createBearerCheck({
    api: "connector",
    tenant: { issuers: [issuer.issuer], audiences: [audience], jwksUrl: issuer.jwksUri },
    fetch: async (...request) => {
      reads++;
      if (isAway) throw new TypeError("fetch failed");
      return fetch(...request);
    },
    now: () => instant(startedAt + later),
    log: createLog((_, line) => lines.push(line)),
  });
  const outcome = (token: string) =>
    check(new Headers({ authorization: `Bearer ${token}` })).then(
      ({ application }) => application,
      (error: unknown) => (error instanceof Fault ? error.kind : error),
    );
  if (knows) expect(await outcome(await mint())).toBe("app");
  return outcome;
}

describe("the keys of the issuer of tenant tokens", () => {
  it("are used for a day while they cannot be read, then every token is 503 until they can be", async () => {
    const outcome = await startHost();
    const token = await mint();
    isAway = true;
    for (const age of [minutes(11), days(1) - minutes(1)]) {
      later = age;
      expect([age, await outcome(token)]).toEqual([age, "app"]);
    }
    later = days(1);
    expect(await outcome(token)).toBe("unavailable");
    isAway = false;
    expect(await outcome(token)).toBe("app");
  });

  it("are asked for every 30 seconds while they cannot be read, by however many calls, and the log says so", async () => {
    const outcome = await startHost();
    const token = await mint();
    isAway = true;
    later = minutes(11);
    for (const expected of [2, 3]) {
      expect(await Promise.all(Array.from({ length: 10 }, () => outcome(token)))).not.toContain("unavailable");
      expect(await outcome(token)).toBe("app");
      expect(reads).toBe(expected);
      later += seconds(30);
    }
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { event: "issuer_keys_stale", readAt: expect.any(String), error: { message: "fetch failed" } },
      { event: "issuer_keys_stale" },
    ]);
  });

  it("are read again for unknown keys once in 30 seconds, and their tokens are refused", async () => {
    const outcome = await startHost();
    const forged = await mintUnknown();
    for (const expected of [1, 2]) {
      for (let call = 0; call < 5; call++) expect(await outcome(forged)).toBe("unauthenticated");
      expect(reads).toBe(expected);
      later += seconds(30);
    }
  });

  it("are not known to lack a key while they cannot be read: 503, and no more reads", async () => {
    const outcome = await startHost();
    const [token, forged] = [await mint(), await mintUnknown()];
    isAway = true;
    later = seconds(30);
    for (let call = 0; call < 5; call++) expect(await outcome(forged)).toBe("unavailable");
    expect(reads).toBe(2);
    expect(await outcome(token)).toBe("app");
  });

  it("are read for the token of a new key", async () => {
    const outcome = await startHost();
    await issuer.rotate();
    later = seconds(30);
    expect(await outcome(await mint())).toBe("app");
    expect(reads).toBe(2);
  });

  it("are read again after 10 minutes, so that a withdrawn key ends", async () => {
    const outcome = await startHost();
    const token = await mint();
    await issuer.rotate();
    await issuer.rotate();
    later = minutes(10) - 1_000;
    expect(await outcome(token)).toBe("app");
    later = minutes(10);
    expect(await outcome(token)).toBe("unauthenticated");
  });

  it("are none on a host that starts while they cannot be read: 503", async () => {
    isAway = true;
    const outcome = await startHost({ knows: false });
    const token = await mint();
    expect(await outcome(token)).toBe("unavailable");
    isAway = false;
    expect(await outcome(token)).toBe("app");
  });
});
