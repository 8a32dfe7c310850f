import { adviceOf, answerOf, type Outcome } from "./outcomes/refusal.ts";
import { createStore, system } from "./store.ts";

export type { Outcome } from "./outcomes/refusal.ts";

interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The outcome of the last call, which the page shows at its bottom. */
export interface Note {
  readonly name: string;
  readonly status?: number;
  /** What it says to people. */
  readonly text?: string | undefined;
  /** Headers and body. They may have a secret that is shown once, so another view does not show them. */
  readonly answer?: string | undefined;
  /** The call as a command. */
  readonly curl?: () => Promise<string>;
}

/** The console could not make a call. */
class CallFailed extends Error {}
/** The console's server is not responding, and the page shows that already. */
export class NotConnected extends CallFailed {}

export const note = createStore<Note | undefined>(undefined);
export const connected = createStore(true);
/** Counts calls that may have changed something, so that lists are read again at once. */
export const changes = createStore(0);

const reconnectMs = 1000;

/** The secret in the address that the console of a deployment prints. It leaves the address, and lasts as long as the tab. */
const secret = () => {
  const [, key] = /^#key=([\w-]+)$/.exec(location.hash) ?? [];
  if (key !== undefined) {
    sessionStorage.setItem("key", key);
    history.replaceState(undefined, "", "#/");
  }
  return sessionStorage.getItem("key") ?? "1";
};
const scriptHeader = { "x-console": secret() };

/** Calls the console's server. Throws `CallFailed` with the reason. */
export async function ask<T>(
  method: string,
  path: string,
  { body, headers = {}, signal }: CallOptions = {},
): Promise<T> {
  const response = await fetch(`/api/${path}`, {
    method,
    headers: { ...scriptHeader, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(signal && { signal }),
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  }).catch(error => {
    if (signal?.aborted) throw error;
    disconnect();
    throw new NotConnected("The console is not responding.");
  });
  const text = await response.text();
  const answer = text === "" ? undefined : JSON.parse(text);
  if (!response.ok) throw new CallFailed(answer?.error ?? `The console answers ${response.status}.`);
  return answer as T;
}

/** Tries again every second until the system answers. */
function disconnect(): void {
  if (!connected.get()) return;
  connected.set(false);
  const timer = setInterval(async () => {
    const answered = await ask("GET", "choices").then(
      () => true,
      () => false,
    );
    if (!answered || connected.get()) return;
    clearInterval(timer);
    connected.set(true);
    note.set({ name: "Connected again", status: 200, text: "The console answers again." });
    changes.set(changes.get() + 1);
  }, reconnectMs);
}

/** Reads from the host. Does not show the outcome. */
export const readHost = <T>(
  path: string,
  signal?: AbortSignal,
  headers: Record<string, string> = {},
): Promise<Outcome<T>> => ask("GET", `host${path}`, { headers, ...(signal && { signal }) });

/** Calls the host and shows the outcome. */
export const callHost = <T>(method: string, path: string, options: CallOptions = {}): Promise<Outcome<T>> =>
  shown(
    `${method} ${path}`,
    () => ask(method, `host${path}`, options),
    async () => {
      const { isSimulated = false, addresses = {} } = system.get() ?? {};
      const service = path.startsWith("/core/") ? "core" : /^\/v[12]\//.test(path) ? "connector" : undefined;
      const tokens = isSimulated ? await ask<Record<string, string>>("GET", "tokens") : {};
      const token = service && (tokens[service] ?? `$${service.toUpperCase()}_TOKEN`);
      // The address of a deployed Core API has its path already.
      const own = service === "core" && !isSimulated ? path.slice("/core".length) : path;
      const url = `${addresses[service ?? "core"] ?? ""}${own}`;
      return curlOf({ method, url, authorization: token && `Bearer ${token}`, ...options });
    },
  );

/** Reads a control of a peer. Throws `CallFailed` if it is refused. */
export async function readPeer<T>(peer: string, path: string, signal?: AbortSignal): Promise<T> {
  const { status, body } = await ask<Outcome<T>>("GET", `peers/${segment(peer)}/${path}`, signal && { signal });
  if (status !== 200) throw new CallFailed(`The peer ${peer} answers ${status}.`);
  return body;
}

/** Calls a control of a peer and shows the outcome. */
export const steer = <T>(peer: string, method: string, path: string, body?: unknown): Promise<Outcome<T>> =>
  shown(
    `${peer}: ${method} ${path}`,
    () => ask(method, `peers/${segment(peer)}/${path}`, { body }),
    async () => {
      const { peers } = await ask<{ peers: Record<string, string> }>("GET", "facts");
      return curlOf({ method, url: `${peers[peer]}/_control/${path}`, body });
    },
  );

/** Makes a call and shows the outcome. The status is 0 if the call could not be made. */
export async function shown<T>(
  name: string,
  call: () => Promise<Outcome<T>>,
  curl?: () => Promise<string>,
): Promise<Outcome<T>> {
  try {
    const outcome = await call();
    const { status } = outcome;
    note.set({ name, status, text: adviceOf(outcome), answer: answerOf(outcome), ...(curl && { curl }) });
    return outcome;
  } catch (error) {
    note.set({ name, text: messageOf(error) });
    return { status: 0, headers: {}, body: undefined as T };
  } finally {
    changes.set(changes.get() + 1);
  }
}

export const isSuccess = ({ status }: Pick<Outcome, "status">): boolean => status >= 200 && status < 300;
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Encodes one segment of a path. */
export const segment = (text: string): string => encodeURIComponent(text);

interface CurlCall {
  readonly method: string;
  readonly url: string;
  readonly authorization?: string | undefined;
  readonly contentType?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Returns a call as a command for a POSIX shell. */
export function curlOf({
  method,
  url,
  authorization,
  contentType = "application/json",
  headers = {},
  body,
}: CurlCall): string {
  const all = {
    ...(authorization && { authorization }),
    ...(body === undefined ? {} : { "content-type": contentType }),
    ...headers,
  };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return [
    "curl",
    ...(method === "GET" ? [] : ["-X", method]),
    quoted(url),
    // The shell puts the caller's own token in place of the name of its variable.
    ...Object.entries(all).flatMap(([name, value]) => [
      "-H",
      value.startsWith("Bearer $") ? `"${name}: ${value}"` : quoted(`${name}: ${value}`),
    ]),
    ...(text === undefined ? [] : ["--data-raw", quoted(text)]),
  ].join(" ");
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
