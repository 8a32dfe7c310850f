import { tell } from "./outcome.js";

/**
 * @typedef {{ status: number, headers: Record<string, string>, body: any }} Outcome
 * @typedef {{ host?: string, peers: Record<string, string>, surfaces: { connector: boolean, core: boolean, client: boolean } }} Facts
 */

/** Why the console could not make a call. */
export class CallFailed extends Error {}

/**
 * Asks the console's server. Throws `CallFailed` with its reason.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, headers?: Record<string, string>, signal?: AbortSignal }} [options]
 */
export async function ask(method, path, { body, headers = {}, signal } = {}) {
  const content = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  const response = await fetch(`/api/${path}`, {
    method,
    headers: { "x-console": "1", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(signal && { signal }),
    ...content,
  }).catch(error => {
    throw signal?.aborted ? error : new CallFailed("The console does not answer. Has the system been stopped?");
  });
  const text = await response.text();
  const answer = text === "" ? undefined : JSON.parse(text);
  if (!response.ok) throw new CallFailed(answer?.error ?? `The console answered ${response.status}.`);
  return answer;
}

/** @returns {Promise<Facts>} */
export const facts = () => ask("GET", "facts");

/**
 * Reads from the host, quietly.
 * @param {string} path
 * @param {{ headers?: Record<string, string>, signal?: AbortSignal }} [options]
 * @returns {Promise<Outcome>}
 */
export const readHost = (path, options) => ask("GET", `host${path}`, options);

/**
 * Calls the host and tells what came of it.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, headers?: Record<string, string> }} [options]
 * @returns {Promise<Outcome>}
 */
export const callHost = (method, path, options) => told(`${method} ${path}`, () => ask(method, `host${path}`, options));

/**
 * Reads a peer's control, quietly.
 * @param {string} peer
 * @param {string} path
 * @param {AbortSignal} [signal]
 */
export async function readPeer(peer, path, signal) {
  const { status, body } = await ask("GET", `peers/${encodeURIComponent(peer)}/${path}`, signal && { signal });
  if (status !== 200) throw new CallFailed(`The peer ${peer} answered ${status}.`);
  return body;
}

/**
 * Steers a peer and tells what came of it.
 * @param {string} peer
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<Outcome>}
 */
export const steer = (peer, method, path, body) =>
  told(`${peer}: ${method} ${path}`, () =>
    ask(method, `peers/${encodeURIComponent(peer)}/${path}`, body === undefined ? {} : { body }),
  );

/**
 * @param {string} name
 * @param {() => Promise<Outcome>} call
 */
export async function told(name, call) {
  try {
    const outcome = await call();
    tell(name, outcome);
    return outcome;
  } catch (error) {
    tell(name, { reason: error instanceof Error ? error.message : String(error) });
    return { status: 0, headers: {}, body: undefined };
  }
}

/**
 * Whether a call did what it was to do.
 * @param {Outcome} outcome
 */
export const worked = ({ status }) => status >= 200 && status < 300;

/** @param {string} text one segment of a path */
export const segment = text => encodeURIComponent(text);
