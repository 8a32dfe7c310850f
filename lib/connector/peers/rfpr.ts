import * as z from "zod";
import { callPeer, type PeerAccess, type PeerRequest, type PeerTools } from "../../platform/peers/call-peer.ts";
import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import type { Instant } from "../../platform/time.ts";
import { trimEnd } from "../../platform/trim-end.ts";
import { preRegistrationApi } from "../model/peer-names.ts";
import type { AccessTokens } from "./access-token.ts";
import { errorOf, noErrorObject } from "./error-object.ts";
import { type AuthenticatorOrder, authenticatorBody, authenticatorResponse, type Enrollment } from "./rfpr-wire.ts";

interface RfprOptions extends PeerTools {
  /** The URL before `/v1/authenticator-requests`. */
  readonly baseUrl: string;
  readonly tokens: AccessTokens;
  /** The time limit of one call, including repetitions. */
  readonly timeLimitMs: number;
}

export type Rfpr = ReturnType<typeof connectRfpr>;

/**
 * Returns the client of the pre-registration API, for on-site enrollment (docs/peers/enrollment.md). The connector
 * chooses the id of each authenticator. Methods throw PeerFailure only and may be repeated after any failure.
 */
export function connectRfpr({ baseUrl, tokens, ...rest }: RfprOptions) {
  const access: PeerAccess = { ...rest, peer: preRegistrationApi, errorOf };
  const requests = `${trimEnd(baseUrl, "/")}/v1/authenticator-requests`;
  const urlOf = (id: string) => `${requests}/${encodeURIComponent(id)}`;
  const call = <T>(request: PeerRequest<T>) =>
    tokens.use(undefined, withToken => callPeer(access, { ...request, ...withToken, mayRepeat: true }));

  return {
    /** Gets an access token, so that a later call does not fail for lack of one. */
    authenticate: () => tokens.use(undefined, () => Promise.resolve()),
    /**
     * Requests an authenticator. Fails as `refused` with status 409 if the id has another content, and with 410 if it
     * was deleted. If the call cannot start by `notAfter`, it is not made and fails as `unreachable`.
     */
    async put(id: string, order: AuthenticatorOrder, { notAfter }: { readonly notAfter?: Instant } = {}) {
      const operation = "put authenticator";
      const body = authenticatorBody(order);
      await call({ operation, method: "PUT", url: urlOf(id), body, notAfter, response: putResponse });
    },
    /** Fails as `refused` with status 410 if the request was deleted. */
    get: (id: string): Promise<Enrollment> =>
      call({ operation: "get authenticator", method: "GET", url: urlOf(id), response: authenticatorResponse(id) }),
    /** Cancels the request, so that it cannot be enrolled. Fails as `refused` with status 409 if it has ended. */
    async cancel(id: string) {
      const url = `${urlOf(id)}/cancel`;
      await call({ operation: "cancel authenticator", method: "POST", url, response: cancelResponse });
    },
    /** Deletes the request and reserves its id, also if it does not exist: a `put` that arrives later is refused. */
    async remove(id: string) {
      await call({ operation: "delete authenticator", method: "DELETE", url: urlOf(id), response: noErrorObject });
    },
  };
}

/** Returns the client of the pre-registration API. Throws PeerFailure if the deployment no longer has one. */
export function requireRfpr({ rfpr }: { readonly rfpr?: Rfpr | undefined }): Rfpr {
  if (rfpr !== undefined) return rfpr;
  throw new PeerFailure(preRegistrationApi, "call", "unreachable", { detail: "It is no longer configured." });
}

const putResponse = z.object({ id: z.string() });
const cancelResponse = z.object({ state: z.literal("cancelled") });
