import { enrollmentId } from "../../../lib/connector/model/security-key.ts";
import type { Fetch } from "../../../lib/platform/call-peer.ts";
import type { Peers } from "../../../local/peers/all.ts";
import { newUser, orderBody } from "./test-connector.ts";

/** One authenticator of a version 2 create body. */
export interface AuthenticatorWish {
  readonly name?: string;
  readonly pin_request?: { min_length?: number; entry_method?: string; delivery_method?: string } | undefined;
  readonly [field: string]: unknown;
  readonly credentials: readonly { readonly user_id: string; readonly idp_id?: string }[];
}

/** An authenticator of a new user with a PIN that is mailed, or as `wanted` has it. @param credentials how many it gets */
export const authenticator = (credentials = 1, wanted: Partial<AuthenticatorWish> = {}): AuthenticatorWish => ({
  pin_request: { min_length: 6 },
  credentials: Array.from({ length: credentials }, () => ({ user_id: newUser() })),
  ...wanted,
});

/** A version 2 create body of authenticators alone; all mails go to `to`. */
export function onSiteBody(authenticators: readonly AuthenticatorWish[] = [authenticator()], to = newUser()) {
  const { shipment: _, ...body } = orderBody([1], to);
  return { ...body, authenticators };
}

/** A version 2 create body of shipped keys, one for each element, which says how many credentials it gets, and authenticators. */
export function mixedBody(
  shipped: readonly number[] = [1],
  authenticators: readonly AuthenticatorWish[] = [authenticator()],
  to = newUser(),
) {
  return { ...orderBody(shipped, to), authenticators };
}

/** What the pre-registration API knows the authenticator at a position by; the first is 0. */
export const idAt = (requestId: string, position = 0): string =>
  enrollmentId(requestId, `a-${String(position + 1).padStart(2, "0")}`);

/** What the agent shows of a request's authenticators, in their order. */
export const authenticatorsOf = ({ rfpr }: Peers, requestId: string) =>
  rfpr
    .authenticatorRequests()
    .filter(({ id }) => id.startsWith(`${requestId}.`))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));

/** Every call of a peer but those of storage, vault and mail, in the order of their beginning, as `<who> <method> <what>`. */
export function recordedCalls(peers: Peers): { readonly calls: string[]; readonly fetch: Fetch } {
  const calls: string[] = [];
  const owners = Object.values(peers);
  return {
    calls,
    fetch: (input, init) => {
      const url = new URL(String(input instanceof Request ? input.url : input));
      const owner = owners.find(peer => peer.url === url.origin)?.name ?? url.origin;
      calls.push(`${owner} ${init?.method ?? "GET"} ${url.pathname}`);
      return fetch(input, init);
    },
  };
}
