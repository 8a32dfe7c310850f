import type { Failure } from "../stage.ts";

/** How a peer words a "no". */
type Words = (status: number) => unknown;

const text = "A simulated refusal";
export const words = {
  graph: (status: number) => ({ error: { code: `Refused${status}`, message: text } }),
  oauth: () => ({ error: "invalid_client", error_description: text }),
  flat: (status: number) => ({ code: `refused_${status}`, message: text }),
  am: (status: number) => ({ code: status, reason: "Refused", message: text }),
} satisfies Record<string, Words>;

/**
 * What can happen to a call that changes nothing: one failure for each decision that the connector makes. That every peer's client takes a
 * refused connection, a 5xx, a time-out, a response that breaks off and one that cannot be read like a lost connection:
 * idp/every-kind.test.ts, platform/call-peer.test.ts.
 */
export const notDone = (of: Words): readonly Failure[] => [
  ...[400, 401].map(status => ({ name: String(status), by: { kind: "refuse", status, body: of(status) } as const })),
  { name: "404 of a proxy", by: { kind: "nonsense", status: 404, body: "<html><body>Not found.</body></html>" } },
  { name: "429, Retry-After 90", by: { kind: "throttle", retryAfter: 90, body: of(429) } },
  { name: "closed", by: { kind: "drop" } },
];

/** What can happen to a call that changes something. Only without a connection it is certain that the peer has not done it. */
export const doneOrNot = (of: Words): readonly Failure[] => [
  { name: "connection refused", by: "away" },
  ...notDone(of),
  { name: "closed though done", by: { kind: "drop", phase: "after" } },
];
