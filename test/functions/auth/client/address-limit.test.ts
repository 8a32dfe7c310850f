import { describe, expect, it, test } from "vitest";
import { Fault } from "../../../../lib/platform/fault.ts";
import { hours, seconds } from "../../../../lib/platform/time.ts";
import { newName, newPassword, replacing, testAuth, withSession } from "../../../support/auth/test-auth.ts";
import { aroundCalls } from "../../../support/storage/around-calls.ts";

let last = 0;

const auth = await testAuth({
  still: true,
  settings: { AUTH_ADDRESS_LIMIT: "3", AUTH_ADDRESS_ALLOW_LIST: "10.0.0.0/8, 2001:db8:99::/48" },
});
const user = await auth.makeUser();

/** An address that no other test calls from. */
const newAddress = () => `192.0.2.${++last}`;
const from = (address: string) => ({ "x-forwarded-for": address });
const frontDoorId = "0f5d1c2e-7a63-4b0e-9d0c-1f2e3d4c5b6a";
const guess = (address: string, on = auth, headers: Record<string, string> = {}) =>
  on.post("/client/authenticate", { username: newName(), password: "x" }, { ...headers, ...from(address) });
const authenticate = (address: string, on = auth) => on.post("/client/authenticate", user.credentials, from(address));

describe("the limit of a caller address (AUTH_ADDRESS_LIMIT)", () => {
  it("refuses attempts beyond so many failures in one window, for any username: 429 with Retry-After", async () => {
    const address = newAddress();
    for (let n = 0; n < 3; n++) expect((await guess(address)).body).toBe(false);
    auth.advance(seconds(600));
    for (const refused of [await guess(address), await authenticate(address)]) {
      expect(refused).toMatchObject({ status: 429, body: { error: "Too many failed attempts. Try again later." } });
      expect(refused.headers.get("retry-after")).toBe("3000");
    }
    expect((await authenticate(newAddress())).body).toBe(true);
    auth.advance(hours(1) - seconds(600) - 1);
    expect((await authenticate(address)).headers.get("retry-after")).toBe("1");
    auth.advance(1);
    expect((await authenticate(address)).body).toBe(true);
  });

  it("applies to login and password change too, and hashes no password for a refused attempt", async () => {
    const address = newAddress();
    const session = await auth.logIn(user);
    for (let n = 0; n < 3; n++) await guess(address);
    const before = auth.hashes();
    const change = { newpass: newPassword(), oldpass: user.password };
    const refused = [
      await auth.post("/client/login", user.credentials, from(address)),
      await auth.post("/client/password", change, { ...from(address), ...withSession(session) }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([429, 429]);
    expect(auth.hashes()).toBe(before);
    const { total } = await auth.counted(() => authenticate(address));
    expect(total).toBe(1);
  });

  it("counts no success", async () => {
    const address = newAddress();
    for (let n = 0; n < 8; n++) expect((await authenticate(address)).body).toBe(true);
    for (let n = 0; n < 2; n++) expect((await guess(address)).body).toBe(false);
    expect((await authenticate(address)).body).toBe(true);
    expect((await guess(address)).body).toBe(false);
    expect((await authenticate(address)).status).toBe(429);
  });

  it("counts attempts that come at once before they are checked", async () => {
    const address = newAddress();
    const answers = await Promise.all(Array.from({ length: 12 }, () => guess(address)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, ...Array(9).fill(429)]);
  });

  it("takes the address TRUSTED_PROXIES hops back, and ignores addresses that the caller adds", async () => {
    const address = newAddress();
    for (let n = 0; n < 3; n++) await guess(`203.0.113.${n}, ${address}`);
    expect((await guess(`203.0.113.9, ${address}`)).status).toBe(429);
    expect((await guess(`${address}, ${newAddress()}`)).body).toBe(false);
    const two = auth.anotherInstance({ settings: { TRUSTED_PROXIES: "2", PROXY_ID: frontDoorId } });
    const proven = { "x-azure-fdid": frontDoorId };
    expect((await guess(`${address}, 10.0.0.1`, two, proven)).status).toBe(429);
  });

  test.each(["10.1.2.3", "2001:db8:99::7", "", "unknown"])(
    "spares %j: on the allow-list, or no address",
    async address => {
      for (let n = 0; n < 6; n++) expect((await guess(address)).body).toBe(false);
    },
  );

  it("is off by default", async () => {
    const off = auth.anotherInstance({ settings: { AUTH_ADDRESS_LIMIT: "" } });
    const address = newAddress();
    for (let n = 0; n < 6; n++) expect((await guess(address, off)).body).toBe(false);
    const { calls } = await off.counted(() => authenticate(address, off));
    expect(calls.filter(call => call.includes("/addresses"))).toEqual([]);
  });

  it("counts attempts at a name that waits, so that an address cannot go on with them", async () => {
    const [address, username] = [newAddress(), newName()];
    const fields = { username, password: "x" };
    for (let n = 0; n < 10; n++) await auth.post("/client/authenticate", fields, from(newAddress()));
    for (let n = 0; n < 3; n++) {
      const response = await auth.post("/client/authenticate", fields, from(address));
      expect([response.status, response.headers.get("retry-after")]).toEqual([429, "30"]);
    }
    const response = await authenticate(address);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "3600"]);
  });

  it("uncounts an attempt at the same time as its slot is released, so that a call in an outage does not wait for both", async () => {
    const hasUncounted = Promise.withResolvers<void>();
    let writes = 0;
    const slow = auth.anotherInstance({
      ports: ({ hasher, throttles, addresses }) => ({
        hasher: { ...hasher, verify: () => Promise.reject(new Error("the vault is away")) },
        throttles: {
          ...throttles,
          save: async (...given) => {
            if (writes++ > 0) await hasUncounted.promise;
            return throttles.save(...given);
          },
        },
        addresses: { ...addresses, uncount: async () => hasUncounted.resolve() },
      }),
    });
    expect((await authenticate(newAddress(), slow)).status).toBe(500);
  });

  it("uncounts an attempt once if storage was away before it had its slot, or for the session", async () => {
    const away = async () => {
      throw new Fault("unavailable", "Storage is not available at the moment.");
    };
    const address = newAddress();
    const deaf = auth.anotherInstance({ ports: replacing("users", () => ({ idOf: away })) });
    for (let n = 0; n < 4; n++) expect((await authenticate(address, deaf)).status).toBe(503);

    await guess(address);
    const full = auth.anotherInstance({ ports: replacing("sessions", () => ({ create: away })) });
    const login = () => full.post("/client/login", user.credentials, from(address));
    for (let n = 0; n < 4; n++) expect((await login()).status).toBe(503);
    expect((await guess(address)).body).toBe(false);
    expect((await guess(address)).body).toBe(false);
    expect((await guess(address)).status).toBe(429);
  });

  it("grants a sign-in that cannot be uncounted, because its session exists and its OTP is used up", async () => {
    const uncount = () => Promise.reject(new Fault("unavailable", "Too many concurrent changes. Repeat the call."));
    const host = auth.anotherInstance({ ports: ({ addresses }) => ({ addresses: { ...addresses, uncount } }) });
    expect((await host.post("/client/login", user.credentials, from(newAddress()))).status).toBe(200);
    expect(host.events("authentication").at(-1)).toMatchObject({ outcome: "granted" });
    expect(host.events("address_not_uncounted")).toHaveLength(1);
  });

  it("refuses an attempt that other attempts of the address keep from being counted: 429, and nothing failed", async () => {
    const address = newAddress();
    await guess(address);
    const host = auth.anotherInstance({
      tables: tables =>
        aroundCalls(tables, (call, send) =>
          call.name.startsWith("replace addresses") ? Promise.resolve(undefined as never) : send(),
        ),
    });
    const refused = await authenticate(address, host);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(host.events("authentication").at(-1)).toMatchObject({ outcome: "undecided", reason: "busy" });
    expect(host.events("unavailable")).toEqual([]);
  });

  it("is a bad setting if no proxy reports addresses", () => {
    expect(() => auth.anotherInstance({ settings: { TRUSTED_PROXIES: "0" } })).toThrow(
      "TRUSTED_PROXIES: must be at least 1 with AUTH_ADDRESS_LIMIT",
    );
  });
});
