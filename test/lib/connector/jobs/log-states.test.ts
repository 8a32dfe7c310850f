import { expect, it } from "vitest";
import type { Changes, LoadedRequest, RequestStore } from "../../../../lib/connector/deps.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import { logStates } from "../../../../lib/connector/runs/log-states.ts";
import { createLog } from "../../../../lib/platform/log.ts";

const request = (state: CredentialRequest["state"]) => ({ id: "r1", state }) as CredentialRequest;
const loaded = (state: CredentialRequest["state"]): LoadedRequest => ({
  request: { value: request(state), etag: "1" },
  keys: [],
});

/** Returns the events that are logged while a store saves, which may be a conflict. */
async function eventsOf(changes: Changes, saves: boolean): Promise<readonly unknown[]> {
  const lines: unknown[] = [];
  const store = { save: async () => (saves ? loaded("started") : undefined) } as unknown as RequestStore;
  const log = createLog((_, line) => lines.push(JSON.parse(line)));
  await logStates(store, log).save(loaded("received"), changes);
  return lines;
}

it("logs the new state of a request after it is written", async () => {
  expect(await eventsOf({ request: request("started") }, true)).toEqual([
    { event: "request_state", credentialRequestId: "r1", state: "started", from: "received" },
  ]);
});

it("logs nothing on a conflict, because the other writer has logged the state", async () => {
  expect(await eventsOf({ request: request("started") }, false)).toEqual([]);
});

it("logs nothing when the state does not change", async () => {
  expect(await eventsOf({ request: request("received") }, true)).toEqual([]);
  expect(await eventsOf({ keys: [] }, true)).toEqual([]);
});
