import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createAccessTokens, type Grant, type TokenCall } from "../../../../lib/connector/peers/access-token.ts";
import { type ClientCredentials, grantByClientCredentials } from "../../../../lib/connector/peers/grant.ts";
import { PeerFailure } from "../../../../lib/platform/peer-failure.ts";
import { type HttpCall, type Peer, startPeer } from "../../../../local/peers/peer.ts";
import { certifiedKey } from "../../../support/connector/certified-key.ts";
import { failureOf, type TestTools, testTools } from "../../../support/connector/peer-tools.ts";
import { deadAddress } from "../../../support/dead-address.ts";

let tools: TestTools;
beforeEach(() => {
  tools = testTools();
});

const echo = async ({ token }: TokenCall) => token;

describe("an access token", () => {
  let granted: number;
  let grant: () => Promise<Grant>;
  beforeEach(() => {
    granted = 0;
    grant = async () => ({ token: `t${++granted}`, expiresInSeconds: 3600 });
  });
  const tokens = () => createAccessTokens({ peer: "thing", now: tools.now, timeLimitMs: 20_000 }, () => grant());

  test("is requested once for concurrent callers and cached until a minute before it expires", async () => {
    const kept = tokens();
    expect(await Promise.all([kept.use(undefined, echo), kept.use(undefined, echo)])).toEqual(["t1", "t1"]);
    tools.advance(3_539_999);
    expect(await kept.use(undefined, echo)).toBe("t1");
    tools.advance(1);
    expect(await kept.use(undefined, echo)).toBe("t2");
  });

  test("with a short life is used for half of it", async () => {
    grant = async () => ({ token: `t${++granted}`, expiresInSeconds: 60 });
    const kept = tokens();
    await kept.use(undefined, echo);
    tools.advance(29_999);
    expect(await kept.use(undefined, echo)).toBe("t1");
    tools.advance(1);
    expect(await kept.use(undefined, echo)).toBe("t2");
  });

  const unauthorized = (status = 401) => new PeerFailure("thing", "call", "unauthorized", { status });
  /** Refuses one token, takes every other. */
  const refusing = (refused: string) => {
    const seen: string[] = [];
    const call = async ({ token }: TokenCall) => {
      seen.push(token);
      if (token === refused) throw unauthorized();
      return token;
    };
    return { seen, call };
  };

  test("is renewed once after a 401", async () => {
    const kept = tokens();
    await kept.use(undefined, echo);
    tools.advance(10_000);
    const { seen, call } = refusing("t1");
    expect(await kept.use(undefined, call)).toBe("t2");
    expect(seen).toEqual(["t1", "t2"]);

    tools.advance(10_000);
    const never = { seen: [] as string[] };
    const failure = kept.use(undefined, async ({ token }) => {
      never.seen.push(token);
      throw unauthorized();
    });
    expect(await failureOf(failure)).toMatchObject({ status: 401 });
    expect(never.seen).toEqual(["t2", "t3"]);
  });

  test("is not renewed after a 401 while it is new", async () => {
    const kept = tokens();
    expect(await failureOf(kept.use(undefined, refusing("t1").call))).toMatchObject({ status: 401 });
    expect(granted).toBe(1);
  });

  test("is not used a second time if the same token is granted again", async () => {
    grant = async () => ({ token: "same", expiresInSeconds: 3600 });
    const kept = tokens();
    await kept.use(undefined, echo);
    tools.advance(10_000);
    const { seen, call } = refusing("same");
    expect(await failureOf(kept.use(undefined, call))).toMatchObject({ status: 401 });
    expect(seen).toEqual(["same"]);
  });

  test("is not renewed again if another call has renewed it meanwhile", async () => {
    const kept = tokens();
    await kept.use(undefined, echo);
    tools.advance(10_000);
    expect(await Promise.all([1, 2, 3].map(() => kept.use(undefined, refusing("t1").call)))).toEqual([
      "t2",
      "t2",
      "t2",
    ]);
    expect(granted).toBe(2);

    tools.advance(10_000);
    const late = kept.use(undefined, async ({ token }) => {
      if (token === "t2") {
        await kept.use(undefined, refusing("t2").call);
        throw unauthorized();
      }
      return token;
    });
    expect(await late).toBe("t3");
    expect(granted).toBe(3);
  });

  test("is not renewed for any other failure", async () => {
    const kept = tokens();
    await kept.use(undefined, echo);
    tools.advance(10_000);
    for (const error of [
      unauthorized(403),
      new PeerFailure("thing", "call", "missing", { status: 404 }),
      new Error("x"),
    ]) {
      await expect(kept.use(undefined, () => Promise.reject(error))).rejects.toBe(error);
    }
    expect(granted).toBe(1);
  });

  test("fails the call as one that was not made if there is no token", async () => {
    const failed = (kind: PeerFailure["kind"], details = {}) => new PeerFailure("thing", "access token", kind, details);
    const cases: [Error, PeerFailure["kind"]][] = [
      [failed("unreachable"), "unreachable"],
      [failed("unanswered", { status: 500 }), "unreachable"],
      [failed("throttled", { status: 429, retryAfterSeconds: 9 }), "throttled"],
      [failed("unauthorized", { status: 401 }), "unauthorized"],
      [failed("missing", { status: 404 }), "unauthorized"],
      [failed("refused", { status: 400, code: "invalid_client" }), "unauthorized"],
      [failed("refused", { status: 400, code: "temporarily_unavailable" }), "unreachable"],
      [new Error("the vault is away"), "unreachable"],
    ];
    for (const [error, kind] of cases) {
      grant = () => Promise.reject(error);
      let called = false;
      const failure = await failureOf(
        tokens().use(undefined, async () => {
          called = true;
        }),
      );
      expect(failure.kind).toBe(kind);
      expect(called).toBe(false);
      if (error instanceof PeerFailure) expect(failure.retryAfterSeconds).toBe(error.retryAfterSeconds);
    }
    grant = async () => ({ token: "t", expiresInSeconds: 60 });
    expect(await tokens().use(undefined, echo)).toBe("t");
  });

  test("is awaited only until the time limit of the operation", async () => {
    grant = () => new Promise(() => {});
    const kept = createAccessTokens({ peer: "thing", now: tools.now, timeLimitMs: 20 }, () => grant());
    expect((await failureOf(kept.use(undefined, echo))).kind).toBe("unreachable");
  });

  test("is awaited only until the caller's signal fires, and continues for other callers", async () => {
    const slow = Promise.withResolvers<Grant>();
    grant = () => slow.promise;
    const kept = tokens();
    const leaving = new AbortController();
    const left = failureOf(kept.use(leaving.signal, echo));
    const stays = kept.use(undefined, echo);
    leaving.abort();
    expect((await left).kind).toBe("unreachable");
    slow.resolve({ token: "t", expiresInSeconds: 60 });
    expect(await stays).toBe("t");
  });
});

describe("the client credentials grant (RFC 6749 section 4.4)", () => {
  let peer: Peer;
  let forms: URLSearchParams[];
  let answer: unknown;

  beforeEach(async () => {
    forms = [];
    answer = { access_token: "token", expires_in: 3599, token_type: "Bearer" };
    peer = await startPeer("login", {
      handle: ({ body }: HttpCall) => {
        forms.push(new URLSearchParams(body.toString()));
        return { status: 200, body: answer };
      },
    });
  });
  afterEach(() => peer.close());

  const grant = (secret: string, changes: Partial<ClientCredentials> = {}) =>
    grantByClientCredentials(
      { ...tools, peer: "login", timeLimitMs: 20_000 },
      {
        tokenUrl: `${peer.url}/token`,
        clientId: "client",
        scope: "s/.default",
        secret: async () => secret,
        ...changes,
      },
    );

  test("sends a client secret", async () => {
    expect(await grant("se&cret")).toEqual({ token: "token", expiresInSeconds: 3599 });
    expect(Object.fromEntries(forms[0] ?? [])).toEqual({
      grant_type: "client_credentials",
      client_id: "client",
      scope: "s/.default",
      client_secret: "se&cret",
    });
  });

  test("reads a lifetime that is a text, and assumes a short one if it is missing or is none", async () => {
    answer = { access_token: "token", expires_in: "60" };
    expect(await grant("secret")).toMatchObject({ expiresInSeconds: 60 });
    for (const none of [undefined, null, "", "soon", true, -1, 10 ** 15]) {
      answer = { access_token: "token", expires_in: none };
      expect(await grant("secret")).toMatchObject({ expiresInSeconds: 300 });
    }
  });

  test("uses private_key_jwt (RFC 7523) if the secret is PEM text, and names the certificate", async () => {
    const [{ privateKey, publicKey, certificate }, issuer] = await Promise.all([
      certifiedKey("client"),
      certifiedKey("issuer"),
    ]);
    await grant(privateKey + certificate);
    await grant(issuer.certificate + certificate + privateKey);
    await grant(privateKey, { algorithmFor: () => "RS256" });
    const assertions = forms.map(form => form.get("client_assertion") ?? "");
    for (const form of forms) {
      expect(form.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
      expect(form.has("client_secret")).toBe(false);
    }
    const keys = createLocalJWKSet({ keys: [publicKey] });
    const options = { issuer: "client", subject: "client", audience: `${peer.url}/token` };
    const verified = await Promise.all(assertions.map(assertion => jwtVerify(assertion, keys, options)));
    const print = new X509Certificate(certificate).fingerprint256.replaceAll(":", "");
    const header = { alg: "PS256", typ: "JWT", "x5t#S256": Buffer.from(print, "hex").toString("base64url") };
    expect(assertions.map(assertion => decodeProtectedHeader(assertion))).toEqual([
      header,
      header,
      { alg: "RS256", typ: "JWT" },
    ]);
    const now = Math.floor(Date.parse(tools.now()) / 1000);
    for (const { payload } of verified)
      expect(payload).toMatchObject({ iat: now - 120, nbf: now - 120, exp: now + 300 });
    expect(new Set(verified.map(({ payload }) => payload.jti)).size).toBe(3);
  });

  test("fails as unauthorized if the PEM text is unusable, and quotes nothing of it", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const [one, other] = await Promise.all([certifiedKey("one"), certifiedKey("other")]);
    const pems = [
      one.privateKey + other.certificate,
      "-----BEGIN PRIVATE KEY-----\nAAAAs3cret\n-----END PRIVATE KEY-----",
      String(privateKey.export({ type: "pkcs8", format: "pem" })),
      one.certificate,
    ];
    for (const pem of pems) {
      const failure = await failureOf(grant(pem));
      expect(failure.kind).toBe("unauthorized");
      expect(failure.cause).toBeUndefined();
    }
    expect(forms).toEqual([]);
  });

  test("keeps the server's error code and text", async () => {
    peer.fail({ kind: "refuse", status: 401, body: { error: "invalid_client", error_description: "AADSTS7000215" } });
    expect(await failureOf(grant("secret"))).toMatchObject({ code: "invalid_client", detail: "AADSTS7000215" });
    peer.fail({ kind: "refuse", status: 400, body: { error: "server_error", error_description: null } });
    expect(await failureOf(grant("secret"))).toMatchObject({ code: "server_error", detail: undefined });
  });

  test("is repeated after temporary failures, because it changes nothing", async () => {
    peer.fail({ kind: "refuse", status: 503, times: 2 });
    expect(await grant("secret")).toMatchObject({ token: "token" });
    expect(await failureOf(grant("secret", { tokenUrl: deadAddress }))).toMatchObject({ kind: "unreachable" });
  });
});
