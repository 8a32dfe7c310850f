import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Deployment, openDeployment } from "../../functions/deployment.ts";
import { apiTokensOf, identifyCaller } from "../../functions/identify-caller.ts";
import type { Call } from "../../lib/platform/http/call.ts";
import { createLog } from "../../lib/platform/log.ts";
import { deploymentSettings } from "../../lib/platform/settings/deployment-settings.ts";
import { readSettings } from "../../lib/platform/settings/read-settings.ts";
import { days, instant, minutes, type Now } from "../../lib/platform/time.ts";
import { startVault, type Vault } from "../../local/peers/vault/vault.ts";
import { until } from "../support/until.ts";

let vault: Vault;

/** A vault with the data-encryption key, from which the tags of tokens are derived. */
async function newVault(): Promise<Vault> {
  const own = await startVault();
  own.set("data-encryption-key", randomBytes(32).toString("base64url"));
  return own;
}

beforeAll(async () => {
  vault = await newVault();
});
afterAll(() => vault.close());

const bearer = (token: string) => new Headers({ authorization: `Bearer ${token}` });

/** A host of its own: its own client of the vault and its own cache. */
function startHost({ url } = vault, now: Now = () => instant(Date.now())) {
  const settings = readSettings(deploymentSettings, {
    CLOUD_STORAGE_CONNECTION_STRING: "UseDevelopmentStorage=true",
    CLOUD_KEY_VAULT_ENDPOINT: url,
    CALLER_STATIC_TOKENS: "true",
  });
  const lines: string[] = [];
  const log = createLog((_, line) => lines.push(line));
  const deployment: Deployment = { ...openDeployment(settings), now, log };
  const tokens = apiTokensOf(deployment, "core");
  const identify = identifyCaller(deployment, { api: "core", tokens });
  const check = async (headers: Headers) =>
    (await identify("caller", { headers } as Pick<Call, "headers"> as Call)).caller;
  return {
    tokens,
    check,
    events: (name: string) => lines.map(line => JSON.parse(line)).filter(({ event }) => event === name),
    create: tokens.create,
    revoke: tokens.revoke,
    accepts: (token: string) =>
      check(bearer(token)).then(
        () => true,
        () => false,
      ),
  };
}

const unknown = () => `core_${randomBytes(4).toString("hex")}_${randomBytes(32).toString("base64url")}`;
/** Number of requests that read tokens. */
const readsOf = (own: Vault) =>
  own
    .requests()
    .filter(({ method, path, status }) => method === "GET" && /core-api-tokens/.test(path) && status === 200).length;

describe("a new API token", () => {
  it("is accepted at once by every host, however many unknown tokens were presented before", async () => {
    const own = await newVault();
    const [creating, other] = [startHost(own), startHost(own)];
    for (const host of [creating, other]) {
      for (let n = 0; n < 20; n++) expect(await host.accepts(unknown())).toBe(false);
    }
    for (const name of ["first", "second"]) {
      const { token } = await creating.create(name);
      own.resetRequests();
      expect(await Promise.all([1, 2, 3].map(() => other.accepts(token)))).toEqual([true, true, true]);
      expect(await creating.accepts(token)).toBe(true);
      // One read of each host, and one before the first of them records the use of the day.
      await until(
        () => own.count("PATCH", /core-api-tokens/) === 1,
        () => "The use was not recorded.",
      );
      expect(readsOf(own)).toBeLessThanOrEqual(4);
    }
    await own.close();
  });

  it("that is revoked before another host reads it costs that host one read a minute", async () => {
    const own = await newVault();
    let later = 0;
    const [creating, other] = [startHost(own), startHost(own, () => instant(Date.now() + later))];
    await other.accepts(unknown());
    const { token, stored } = await creating.create("revoked");
    await creating.revoke(stored.id);
    own.resetRequests();
    for (const reads of [1, 2]) {
      for (let n = 0; n < 5; n++) expect(await other.accepts(token)).toBe(false);
      expect(readsOf(own)).toBe(reads);
      later += minutes(1);
    }
    await own.close();
  });

  it("is not called invalid while Key Vault does not respond: 503", async () => {
    const own = await newVault();
    const [creating, other] = [startHost(own), startHost(own)];
    await other.accepts(unknown());
    const { token } = await creating.create("new");
    own.fail({ kind: "throttle", retryAfter: 60, times: 99 });
    await expect(other.check(bearer(token))).rejects.toMatchObject({ kind: "unavailable" });
    await expect(other.check(bearer(unknown()))).rejects.toMatchObject({ reason: "unknown_api_token" });
    await own.close();
  });

  it("is looked up only with the tag of its service", async () => {
    const own = await newVault();
    const [creating, other] = [startHost(own), startHost(own)];
    await other.accepts(unknown());
    const { token } = await creating.create("new");
    own.resetRequests();
    const changed = (at: number) => `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`;
    for (const at of [15, 45, 46, 50]) expect(await other.accepts(changed(at))).toBe(false);
    expect(readsOf(own)).toBe(0);
    await own.close();
  });
});

describe("API tokens on two hosts", () => {
  it("stay revoked when others are created and revoked at the same moment, and no created one is lost", async () => {
    const [first, second] = [startHost(), startHost()];
    const kept: string[] = [];
    const revoked: string[] = [];
    let target = await first.create("target 0");
    for (let round = 1; round <= 30; round++) {
      const [, made, next] = await Promise.all([
        first.revoke(target.stored.id),
        second.create(`kept ${round}`),
        (round % 2 === 0 ? first : second).create(`target ${round}`),
      ]);
      revoked.push(target.token);
      kept.push(made.token);
      target = next;
    }
    const late = startHost();
    expect(await Promise.all(revoked.map(late.accepts))).toEqual(revoked.map(() => false));
    expect(await Promise.all(kept.map(late.accepts))).toEqual(kept.map(() => true));
  });

  it("is refused an hour after the last read while Key Vault is away: it may have been revoked", async () => {
    const own = await newVault();
    let later = 0;
    const host = startHost(own, () => instant(Date.now() + later));
    const { token, stored } = await host.create("revoked elsewhere");
    expect(await host.accepts(token)).toBe(true);
    await startHost(own).revoke(stored.id);
    own.fail({ kind: "throttle", retryAfter: 60, times: 99 });
    later = minutes(59);
    expect(await host.accepts(token)).toBe(true);
    later = minutes(61);
    await expect(host.check(bearer(token))).rejects.toMatchObject({ kind: "unavailable" });
    own.clearFaults();
    later = minutes(62);
    expect(await host.accepts(token)).toBe(false);
    await own.close();
  });

  it("stays revoked when a create that began before the revocation writes after it", async () => {
    const [first, second] = [startHost(), startHost()];
    for (let round = 0; round < 5; round++) {
      const target = await first.create("target");
      vault.fail({ kind: "hang", method: "PUT" });
      const creating = second.create("late");
      await vault.untilHanging();
      await first.revoke(target.stored.id);
      vault.release();
      const made = await creating;
      expect(await startHost().accepts(target.token)).toBe(false);
      expect(await startHost().accepts(made.token)).toBe(true);
    }
  });

  it("stays revoked when a repeated request of its creation is done after the revocation", async () => {
    const host = startHost();
    const { token, stored } = await host.create("repeated");
    await host.revoke(stored.id);
    vault.set("core-api-tokens", stored.id, { ...stored });
    expect(await startHost().accepts(token)).toBe(false);
    await expect(startHost().tokens.revoke(stored.id)).rejects.toMatchObject({ kind: "not_found" });
  });

  it("costs one request for each 25 tokens that were ever created, and none for unknown tokens", async () => {
    const own = await newVault();
    const host = startHost(own);
    for (let n = 0; n < 30; n++) await host.create(`token ${n}`);
    own.resetRequests();
    const late = startHost(own);
    for (let n = 0; n < 20; n++) expect(await late.accepts(unknown())).toBe(false);
    // The cache is filled by one read of two pages.
    expect(readsOf(own)).toBe(2);
    await own.close();
  });

  it("is revoked once where two hosts revoke it at the same moment, and stays so", async () => {
    const [first, second] = [startHost(), startHost()];
    for (let round = 0; round < 10; round++) {
      const { token, stored } = await first.create("twice");
      await Promise.allSettled([first.revoke(stored.id), second.revoke(stored.id)]);
      expect((await second.tokens.list()).map(({ id }) => id)).not.toContain(stored.id);
      if (round === 9) expect(await startHost().accepts(token)).toBe(false);
    }
  });
});

describe("the last use of an API token", () => {
  const name = "core-api-tokens";
  const path = new RegExp(name);
  const isRecorded = (own: Vault, day: string) =>
    until(
      () => own.tags(name).some(({ lastUsedOn }) => lastUsedOn === day),
      () => `No token was used on ${day}.`,
    );

  it("is written once a day by all hosts together, and other calls with the token make no request", async () => {
    const own = await newVault();
    let later = 0;
    const now = () => instant(Date.UTC(2031, 0, 1, 10) + later);
    const [first, second] = [startHost(own, now), startHost(own, now)];
    const used = await first.create("used");
    const unused = await first.create("never used");
    // The second host knows the token from before its first use.
    expect(await second.accepts(unknown())).toBe(false);
    own.resetRequests();
    for (let call = 0; call < 3; call++) expect(await first.accepts(used.token)).toBe(true);
    await isRecorded(own, "2031-01-01");
    for (let call = 0; call < 3; call++) expect(await second.accepts(used.token)).toBe(true);
    // The first host fills its cache, and each host reads the versions before it writes.
    await own.untilRequested("GET", path, 3);
    later = minutes(1);
    for (const host of [first, second]) expect(await host.accepts(used.token)).toBe(true);
    expect([own.count("GET", path), own.count("PATCH", path)]).toEqual([3, 1]);
    later = days(1);
    expect(await first.accepts(used.token)).toBe(true);
    await isRecorded(own, "2031-01-02");
    expect([own.count("GET", path), own.count("PATCH", path)]).toEqual([5, 2]);
    // A host that reads the tokens after that knows the day, and makes no other request.
    expect(await startHost(own, now).accepts(used.token)).toBe(true);
    const listed = (await startHost(own).tokens.list()).map(({ id, lastUsedOn }) => [id, lastUsedOn]);
    expect(Object.fromEntries(listed)).toEqual({ [used.stored.id]: "2031-01-02", [unused.stored.id]: undefined });
    // Key Vault challenges the first request of a host, so that its first read takes two.
    expect(own.count("GET", path)).toBe(5 + 2 + 2);
    await own.close();
  });

  it("does not fail the call when Key Vault refuses to write it, and is written an hour later", async () => {
    const own = await newVault();
    let later = 0;
    const host = startHost(own, () => instant(Date.UTC(2031, 0, 1, 10) + later));
    const { token, stored } = await host.create("used");
    own.fail({ kind: "refuse", status: 403, method: "PATCH" });
    expect(await host.accepts(token)).toBe(true);
    await own.untilRequested("PATCH", path);
    await until(
      () => host.events("api_token_use_unrecorded").length > 0,
      () => "The failure is not logged.",
    );
    expect(host.events("api_token_use_unrecorded")).toMatchObject([{ secret: name, id: stored.id }]);
    later = minutes(59);
    expect(await host.accepts(token)).toBe(true);
    expect(own.count("PATCH", path)).toBe(1);
    later = minutes(61);
    expect(await host.accepts(token)).toBe(true);
    await isRecorded(own, "2031-01-01");
    expect(own.count("PATCH", path)).toBe(2);
    await own.close();
  });

  it("does not delay the call, and a token whose revocation is faster stays revoked", async () => {
    const own = await newVault();
    const host = startHost(own, () => instant(Date.UTC(2031, 0, 1, 10)));
    const { token, stored } = await host.create("used");
    own.fail({ kind: "hang", method: "PATCH" });
    expect(await host.accepts(token)).toBe(true);
    await own.untilHanging();
    await startHost(own).revoke(stored.id);
    own.release();
    await isRecorded(own, "2031-01-01");
    expect(await startHost(own).accepts(token)).toBe(false);
    await own.close();
  });
});
