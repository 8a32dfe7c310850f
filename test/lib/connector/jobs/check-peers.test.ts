import { describe, expect, test } from "vitest";
import { checkPeers, type Finding } from "../../../../lib/connector/jobs/check-peers.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import {
  type ConnectorOptions,
  idpsOf,
  newUser,
  peersOfFile,
  type TestConnector,
  testConnector,
} from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

async function findings(options: ConnectorOptions = {}, users = [newUser()]): Promise<readonly Finding[]> {
  return findingsOf(await testConnector(peers, options), users);
}
const findingsOf = ({ context }: TestConnector, users = [newUser()]) =>
  checkPeers(
    users.map(userId => ({ idpId: context.idps.defaultId, userId })),
    context,
  );
const bad = (all: readonly Finding[]) => all.filter(({ ok }) => !ok);
const writes = () =>
  [peers.delivery, peers.mail, peers.entra].flatMap(peer =>
    peer.requests().filter(({ method, path }) => method !== "GET" && !path.includes("token")),
  );

describe("the check of the peers", () => {
  test("reports every peer of a valid deployment as ok, and changes nothing", async () => {
    const connector = await testConnector(peers);
    const all = await findingsOf(connector);
    expect(connector.events("peers_checked")).toMatchObject([{ idp: "entra" }]);
    expect(bad(all)).toEqual([]);
    expect(new Set(all.map(({ peer }) => peer))).toEqual(
      new Set(["delivery service", "enrollment services", "mail service", "IdP entra"]),
    );
    expect(all.map(({ check }) => check)).toEqual(
      expect.arrayContaining(["API token", "creation options", "read-back"]),
    );
    expect(writes()).toEqual([]);
  });

  test("warns of an IdP at which credentials cannot be revoked, with what is missing", async () => {
    const revocation = (all: readonly Finding[]) => all.find(({ check }) => check === "revocation");
    expect(revocation(await findings())).toMatchObject({ ok: true, finding: "Active credentials can be revoked." });
    const ports: ConnectorOptions["ports"] = context => ({
      idps: idpsOf(context, () => ({
        revoke: () => Promise.reject(new PeerFailure("IdP entra", "revocation", "unauthorized", { status: 403 })),
      })),
    });
    expect(revocation(await findings({ ports }))).toMatchObject({
      ok: true,
      finding: expect.stringMatching(/^Warning: .*UserAuthMethod-Passkey.ReadWrite.All/),
    });
    const broken: ConnectorOptions["ports"] = context => ({
      idps: idpsOf(context, () => ({
        revoke: () => Promise.reject(new PeerFailure("IdP entra", "revocation", "unanswered", { status: 500 })),
      })),
    });
    expect(revocation(await findings({ ports: broken }))).toMatchObject({ ok: false });
  });

  test("calls an IdP only for a named test user", async () => {
    const before = peers.entra.requests().length;
    expect((await findings({}, [])).map(({ peer }) => peer)).not.toContain("IdP entra");
    expect(peers.entra.requests().length).toBe(before);
  });

  test.each([
    ["a refused token", { kind: "refuse", status: 401 }, /secret in Key Vault/],
    ["an outage", { kind: "refuse", status: 500 }, /No readable response \(500\)/],
    ["throttling", { kind: "throttle", retryAfter: 7 }, /wait 7 s/],
    ["a dropped connection", { kind: "drop" }, /No readable response|Not reached/],
  ] as const)("explains %s of the delivery service", async (_, rule, words) => {
    peers.delivery.fail({ method: "GET", path: "/v1/fpr/shipments", times: 50, ...rule });
    const [one, ...others] = bad(await findings());
    expect(one).toMatchObject({ peer: "delivery service", check: "API token", finding: expect.stringMatching(words) });
    expect(others).toEqual([]);
  });

  test("does not mistake a refused credential of the enrollment service for an unknown request", async () => {
    const name = "enrollment-credential";
    const own = peers.vault.get(name) ?? "";
    peers.vault.set(name, "another");
    try {
      const [one, ...others] = bad(await findings());
      expect(one).toMatchObject({
        peer: "enrollment services",
        finding: expect.stringMatching(/secret in Key Vault.*invalid_grant/),
      });
      expect(others).toEqual([]);
    } finally {
      peers.vault.set(name, own);
    }
  });

  test("explains a private key that cannot be used, although no peer was called", async () => {
    const name = "idp-entra-client-secret";
    const own = peers.vault.get(name) ?? "";
    peers.vault.set(name, "-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----");
    try {
      const [one] = bad(await findings());
      expect(one?.finding).toMatch(/^It does not accept the connector: the secret in Key Vault/);
    } finally {
      peers.vault.set(name, own);
    }
  });

  test("explains an unknown user of the IdP, with the IdP's message", async () => {
    const user = newUser();
    peers.entra.fail({ method: "GET", path: "creationOptions", kind: "refuse", status: 404, times: 50 });
    const [one, ...others] = bad(await findings({}, [user]));
    expect(one).toMatchObject({ peer: "IdP entra", check: "creation options" });
    expect(one?.finding).toMatch(/test user does not exist/);
    expect(others).toEqual([]);
  });

  test("warns of permissions without which users and policies are not checked, and reports what prevents credentials", async () => {
    const of = (all: readonly Finding[]) => all.filter(({ check }) => check === "user and policies");
    const policy = { isAttestationEnforced: false };
    peers.entra.settings({ policy });
    try {
      expect(of(await findings())).toMatchObject([
        { ok: true, finding: "Nothing is known that prevents a credential." },
      ]);
      peers.entra.settings({ readsUsers: false, readsPolicies: false });
      expect(of(await findings())).toMatchObject([
        {
          ok: true,
          finding: expect.stringMatching(/^Warning: the test user was not fully checked: .*User.Read.All\.$/),
        },
        { ok: true, finding: expect.stringMatching(/Policy.Read.AuthenticationMethod\.$/) },
      ]);
      peers.entra.settings({ readsUsers: true, readsPolicies: true, policy: { ...policy, state: "disabled" } });
      expect(of(bad(await findings()))).toMatchObject([
        { finding: expect.stringMatching(/^The test user cannot have a passkey: the method is disabled. Enable it/) },
      ]);
    } finally {
      peers.entra.settings({ policy: {} });
    }
  });

  test("reports a challenge that is of no use for shipped security keys, and what to change", async () => {
    expect(bad(await findings({ settings: { IDPA_FIDO_API_VERSION: "v1.0" } }))).toMatchObject([
      {
        peer: "IdP entra",
        check: "challenge",
        finding: expect.stringMatching(/^Shipments are refused\. .*api-version/),
      },
    ]);
  });

  test("explains a mail service that does not accept the connector", async () => {
    peers.mail.fail({ method: "GET", kind: "refuse", status: 401, times: 50 });
    expect(bad(await findings())).toMatchObject([{ peer: "mail service", check: "access" }]);
  });

  test("reports an IdP that is not configured", async () => {
    const { context } = await testConnector(peers);
    expect(bad(await checkPeers([{ idpId: "other", userId: "x" }], context))).toMatchObject([{ peer: "IdP other" }]);
  });
});
