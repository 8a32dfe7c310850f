import { openState } from "../peers/state-file.ts";

/** One event in the story of a credential request. */
export interface TimelineEvent {
  /** Number of the event, unique in this timeline. */
  readonly id: number;
  /** ms since 1970 */
  readonly at: number;
  readonly credentialRequestId: string;
  /** `peer_call`, `state_change`, or the event of a log line. */
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The events of the most recent credential requests. */
export interface Timeline {
  /** Adds one JSON line of the host's log. Ignores other text. */
  addLine(line: string): void;
  add(credentialRequestId: string, event: string, fields: TimelineEvent["fields"]): void;
  /** Returns the events of a credential request in their order. */
  of(credentialRequestId: string): readonly TimelineEvent[];
  /** Saves what is not saved yet. */
  close(): void;
}

type Line = Readonly<Record<string, unknown>> & { readonly event: string };

const maxEvents = 3000;
const maxUnlinked = 500;
const saveAfterMs = 2000;

/**
 * Opens a timeline of at most 3000 events.
 * @param statePath where it is kept; in memory if absent
 * @param changed called with the id of a credential request after each of its log lines and calls
 */
export function createTimeline(statePath: string | undefined, changed: (id: string) => void = () => {}): Timeline {
  const state = openState<{ next: number; events: TimelineEvent[] }>(statePath, { next: 1, events: [] });
  /** The create of a request has no id of the credential request in its first lines, but that of its HTTP call. */
  let unlinked: { readonly at: number; readonly line: Line }[] = [];
  const linked = new Map<unknown, string>();
  let saving: NodeJS.Timeout | undefined;

  const save = () => {
    clearTimeout(saving);
    saving = undefined;
    state.save();
  };
  const push = (at: number, credentialRequestId: string, event: string, fields: TimelineEvent["fields"]) => {
    const { events } = state.value;
    events.push({ id: state.value.next++, at, credentialRequestId, event, fields });
    if (events.length > maxEvents) events.splice(0, events.length - maxEvents);
    saving ??= setTimeout(save, saveAfterMs).unref();
  };
  const pushLine = (at: number, id: string, { event, credentialRequestId: _, invocationId: __, ...fields }: Line) =>
    push(at, id, event, fields);

  const link = (requestId: unknown, id: string) => {
    linked.set(requestId, id);
    if (linked.size > maxUnlinked) linked.delete(linked.keys().next().value);
    for (const { at, line } of unlinked.filter(({ line }) => line.requestId === requestId)) pushLine(at, id, line);
    unlinked = unlinked.filter(({ line }) => line.requestId !== requestId);
  };

  return {
    addLine: text => {
      const line = parsed(text);
      if (line === undefined) return;
      const { event, requestId, credentialRequestId, from } = line;
      const at = Date.now();
      const isCreate = event === "request_state" && from === undefined && requestId !== undefined;
      if (isCreate && typeof credentialRequestId === "string") link(requestId, credentialRequestId);
      const id = credentialRequestId ?? linked.get(requestId);
      if (typeof id === "string") {
        pushLine(at, id, line);
        changed(id);
      } else if (requestId !== undefined) {
        unlinked.push({ at, line });
        if (unlinked.length > maxUnlinked) unlinked.shift();
      }
    },
    add: (id, event, fields) => push(Date.now(), id, event, fields),
    of: id => state.value.events.filter(event => event.credentialRequestId === id),
    close: () => {
      if (saving !== undefined) save();
    },
  };
}

function parsed(text: string): Line | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const value = JSON.parse(text);
    return typeof value.event === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
