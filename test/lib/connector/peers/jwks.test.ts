import { exportJWK, generateKeyPair, type JWK } from "jose";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKeySet } from "../../../../lib/connector/peers/jwks.ts";
import { type Peer, startPeer } from "../../../../local/peers/peer.ts";
import { kindOf, type TestTools, testTools } from "../../../support/connector/peer-tools.ts";

let peer: Peer;
let tools: TestTools;
let served: unknown;
let one: JWK;
let two: JWK;

const newKey = async (kid: string, use = "sig", crv = "P-384"): Promise<JWK> => {
  const { publicKey } = await generateKeyPair("ECDH-ES", { crv, extractable: true });
  return { ...(await exportJWK(publicKey)), kid, use };
};

beforeAll(async () => {
  [one, two] = await Promise.all([newKey("one"), newKey("two")]);
});

beforeEach(async () => {
  peer = await startPeer("keys", { handle: () => ({ status: 200, body: served }) });
  tools = testTools();
  served = { keys: [one] };
});

afterEach(() => peer.close());

const keySet = (changes: Partial<Parameters<typeof createKeySet>[1]> = {}) =>
  createKeySet({ ...tools, peer: "keys", timeLimitMs: 20_000 }, { url: `${peer.url}/jwks`, use: "sig", ...changes });
const reads = () => peer.count("GET", /jwks/);
const shown = ({ kty, crv, x, y, kid }: JWK) => ({ kty, crv, x, y, kid });

describe("a key set", () => {
  test("is read once for concurrent callers and cached for 5 minutes", async () => {
    const keys = keySet();
    expect(await Promise.all([keys.all(), keys.all(), keys.find("one")])).toEqual([
      [shown(one)],
      [shown(one)],
      shown(one),
    ]);
    tools.advance(299_999);
    await keys.all();
    expect(reads()).toBe(1);
    tools.advance(1);
    served = { keys: [two] };
    expect(await keys.all()).toEqual([shown(two)]);
    expect(reads()).toBe(2);
  });

  test("is read again for an unknown id, at most once a minute", async () => {
    const keys = keySet();
    await keys.all();
    served = { keys: [one, two] };
    expect(await keys.find("two")).toBeUndefined();
    tools.advance(60_000);
    expect(await Promise.all([keys.find("two"), keys.find("two")])).toEqual([shown(two), shown(two)]);
    expect(await keys.find("three")).toBeUndefined();
    expect(reads()).toBe(2);
  });

  test("does not contain a key that the peer has removed", async () => {
    const keys = keySet();
    await keys.find("one");
    served = { keys: [two] };
    tools.advance(300_000);
    expect(await keys.find("one")).toBeUndefined();
  });

  test("contains only EC P-384 keys of its use, and no private or invalid keys", async () => {
    const other = await newKey("other", "enc");
    const small = await newKey("small", "sig", "P-256");
    served = {
      keys: [
        null,
        "key",
        { ...one, d: "secret" },
        { ...one, x: two.x },
        { ...one, alg: "ES256" },
        { ...one, kid: undefined },
        { ...one, kid: "" },
        { ...one, use: undefined },
        other,
        small,
        { ...two, alg: "ES384", key_ops: ["verify"] },
        { ...one, kid: "two" },
      ],
    };
    expect(await keySet().all()).toEqual([shown(two)]);
    served = { keys: [await newKey("small", "enc", "P-256"), other] };
    expect(await keySet({ use: "enc" }).all()).toEqual([shown(other)]);
  });

  test("is unanswered without a usable key", async () => {
    served = { keys: [] };
    expect(await kindOf(keySet().all())).toBe("unanswered");
    served = { keys: "none" };
    expect(await kindOf(keySet().all())).toBe("unanswered");
  });

  test("is read again by the next caller after a failed read", async () => {
    const keys = keySet();
    peer.fail({ kind: "refuse", times: 3 });
    expect(await kindOf(keys.all())).toBe("unanswered");
    expect(await keys.all()).toEqual([shown(one)]);
  });
});
