import { expect, it } from "vitest";
import type { Changes, LoadedRequest, RequestStore } from "../../../../lib/connector/deps.ts";
import type { CredentialRequest } from "../../../../lib/connector/model/request.ts";
import { logStates } from "../../../../lib/connector/store/log-states.ts";
import { createLog } from "../../../../lib/log.ts";

const request = (state: CredentialRequest["state"]) => ({ id: "r1", state }) as CredentialRequest;
const loaded = (state: CredentialRequest["state"]): LoadedRequest => ({
  request: { value: request(state), etag: "1" },
  keys: [],
});

/** What is told while a store saves, which may lose to another. */
async function told(changes: Changes, saves: boolean): Promise<readonly unknown[]> {
  const lines: unknown[] = [];
  const store = { save: async () => (saves ? loaded("started") : undefined) } as unknown as RequestStore;
  const log = createLog((_, line) => lines.push(JSON.parse(line)));
  await logStates(store, log).save(loaded("received"), changes);
  return lines;
}

it("a state that a request comes into is told once it is written", async () => {
  expect(await told({ request: request("started") }, true)).toEqual([
    { event: "request_state", credentialRequestId: "r1", state: "started", from: "received" },
  ]);
});

it("a write that lost to another tells nothing: the other has told", async () => {
  expect(await told({ request: request("started") }, false)).toEqual([]);
});

it("a write that leaves the state as it is tells nothing", async () => {
  expect(await told({ request: request("received") }, true)).toEqual([]);
  expect(await told({ keys: [] }, true)).toEqual([]);
});
