import type { Failure } from "../stage.ts";

/** How a peer words a "no". */
export type Words = (status: number) => unknown;

const text = "A simulated refusal";
export const words = {
  graph: (status: number) => ({ error: { code: `Refused${status}`, message: text } }),
  oauth: () => ({ error: "invalid_client", error_description: text }),
  flat: (status: number) => ({ code: `refused_${status}`, message: text }),
  am: (status: number) => ({ code: status, reason: "Refused", message: text }),
} satisfies Record<string, Words>;

const page = "<html><body>This is not what you asked for.</body></html>";

/** What can happen to any call: the peer does nothing of it, or it reads only. */
export const compensating = (of: Words): readonly Failure[] => [
  { name: "connection refused", by: "away" },
  ...[400, 401].map(status => ({ name: String(status), by: { kind: "refuse", status, body: of(status) } as const })),
  { name: "404 of a proxy", by: { kind: "nonsense", status: 404, body: page } },
  { name: "429, Retry-After 90", by: { kind: "throttle", retryAfter: 90, body: of(429) } },
  { name: "500", by: { kind: "refuse", status: 500, body: of(500) } },
  { name: "time-out", by: { kind: "hang" } },
  { name: "closed", by: { kind: "drop" } },
  { name: "cut off", by: { kind: "cut" } },
  { name: "garbage", by: { kind: "nonsense", body: page } },
];

/** What can happen to a call that changes something, once it is done. */
const done = (of: Words): readonly Failure[] => [
  { name: "500 though done", by: { kind: "refuse", status: 500, body: of(500), phase: "after" } },
  { name: "time-out though done", by: { kind: "hang", phase: "after" } },
  { name: "closed though done", by: { kind: "drop", phase: "after" } },
  { name: "cut off though done", by: { kind: "cut", phase: "after" } },
  { name: "garbage though done", by: { kind: "nonsense", body: page, phase: "after" } },
];

export const doneOrNot = (of: Words): readonly Failure[] => [...compensating(of), ...done(of)];
