import { AsyncLocalStorage } from "node:async_hooks";
import * as z from "zod";
import type { Outcome } from "../../commands/console/calls.ts";
import type { CredentialRequest } from "../../lib/connector/model/request.ts";
import { operationId } from "../../lib/connector/pin/send-pin-mail.ts";
import type { Timeline, TimelineEvent } from "./timeline.ts";

const key = z.object({
  id: z.string(),
  name: z.string(),
  state: z.string(),
  credentials: z.array(z.object({ user_id: z.string(), idp_id: z.string(), state: z.string() })),
});
const requestBody = z.object({
  data: z.object({
    authenticators: z.array(key).optional(),
    shipment: z.object({ shipment_items: z.array(key) }).optional(),
  }),
});
type Key = z.output<typeof key>;

const mailList = z.object({
  mails: z.array(
    z.looseObject({ id: z.string(), operationId: z.string(), subject: z.string(), to: z.array(z.string()) }),
  ),
});

/** More sends are not looked for: their ids have to fit into one address. */
const maxSendsOfKey = 3;
const maxSends = 200;
const observeAfterMs = 100;
const maxObserved = 500;

interface StoryOptions {
  readonly timeline: Timeline;
  readonly readRequest: (id: string) => Promise<Outcome>;
  readonly readRow: (id: string) => Promise<CredentialRequest | undefined>;
  readonly readMails: (operationIds: readonly string[]) => Promise<Outcome>;
}

/** The story of one credential request. */
export interface Story {
  readonly recipient: CredentialRequest["recipient"] | undefined;
  readonly events: readonly TimelineEvent[];
  /** PIN emails of the request, without their texts. */
  readonly mails: z.output<typeof mailList>["mails"];
}

/**
 * Returns the stories of credential requests, and adds the state changes of their keys and credentials to the timeline.
 */
export function createStories({ timeline, readRequest, readRow, readMails }: StoryOptions) {
  const lastStates = new Map<string, ReadonlyMap<string, string>>();
  const waiting = new Map<string, NodeJS.Timeout>();
  /** The console's own calls must not have the log fields of the caller: they would be recorded, and cause further ones. */
  const outsideCaller = AsyncLocalStorage.snapshot();

  const readKeys = async (id: string): Promise<readonly Key[]> => {
    const { body } = await readRequest(id);
    const { data } = requestBody.safeParse(body);
    return [...(data?.data.shipment?.shipment_items ?? []), ...(data?.data.authenticators ?? [])];
  };
  const observe = async (id: string) => {
    const states = statesOf(await readKeys(id));
    const before = lastStates.get(id);
    lastStates.delete(id);
    lastStates.set(id, states);
    if (lastStates.size > maxObserved) lastStates.delete(lastStates.keys().next().value ?? "");
    for (const [name, to] of states) {
      const from = before?.get(name);
      if (from !== undefined && from !== to) timeline.add(id, "state_change", { name, from, to });
    }
  };

  return {
    /** Looks for state changes a moment later, once for all calls until then. */
    changed(id: string): void {
      if (waiting.has(id)) return;
      const look = () => {
        waiting.delete(id);
        observe(id).catch(() => {});
      };
      waiting.set(id, outsideCaller(setTimeout, look, observeAfterMs).unref());
    },
    async of(id: string): Promise<Story> {
      const [keys, row] = await Promise.all([readKeys(id), readRow(id)]);
      const operations = keys
        .flatMap(key => Array.from({ length: maxSendsOfKey }, (_, at) => operationId(id, key.id, at + 1)))
        .slice(0, maxSends);
      const { body } = operations.length === 0 ? { body: undefined } : await readMails(operations);
      return {
        recipient: row?.recipient,
        events: timeline.of(id),
        mails: mailList.safeParse(body).data?.mails ?? [],
      };
    },
    close(): void {
      for (const timer of waiting.values()) clearTimeout(timer);
      timeline.close();
    },
  };
}

const statesOf = (keys: readonly Key[]): ReadonlyMap<string, string> =>
  new Map(
    keys.flatMap(({ id, name, state, credentials }) => [
      [`${name} (${id})`, state] as const,
      ...credentials.map(
        ({ user_id, idp_id, state }, at) => [`${name}, credential ${at + 1}: ${user_id} at ${idp_id}`, state] as const,
      ),
    ]),
  );
