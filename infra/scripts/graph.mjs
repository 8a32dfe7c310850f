// Calls of Microsoft Graph: few, repeated where that is safe, and readable when they fail.
import { setTimeout as wait } from "node:timers/promises";

/**
 * @param address of Graph, as in https://graph.microsoft.com
 * @param token bearer token; it goes to that address alone
 */
export function connectGraph(address, token, { pauseMs = 2000, tries = 6 } = {}) {
  const { protocol, hostname } = new URL(address);
  const loopback = hostname === "127.0.0.1" || hostname === "localhost";
  if (protocol !== "https:" && !loopback) throw new Error(`${address} is no https address.`);

  /** What a fresh object's copies do not know yet comes back as one of these; Graph says when to ask again. */
  const passing = new Set([429, 500, 502, 503, 504]);

  const send = async (method, path, { body, headers, missing = false, retryStatuses = [] } = {}) => {
    for (let turn = 1; ; turn++) {
      const response = await fetch(`${address}/v1.0${path}`, {
        method,
        redirect: "error",
        signal: AbortSignal.timeout(60_000),
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.ok) return text === "" ? undefined : JSON.parse(text);
      if (missing && response.status === 404) return undefined;
      if (turn >= tries || !(passing.has(response.status) || retryStatuses.includes(response.status))) {
        const { status } = response;
        throw Object.assign(new Error(`${method} ${path} was answered ${status}: ${reasonOf(text)}`), { status });
      }
      const asked = Number(response.headers.get("retry-after"));
      await wait(Number.isFinite(asked) && asked > 0 ? Math.min(asked, 60) * 1000 : pauseMs * turn);
    }
  };

  return {
    get: (path, options) => send("GET", path, options),
    patch: (path, body, options) => send("PATCH", path, { ...options, body }),
    post: (path, body, options) => send("POST", path, { ...options, body }),
    /** Every page of a list. */
    async list(path) {
      const found = [];
      for (let next = path; next !== undefined; ) {
        const page = await send("GET", next);
        found.push(...page.value);
        const link = page["@odata.nextLink"];
        if (link !== undefined && !link.startsWith(`${address}/v1.0/`)) throw new Error(`${path} continues elsewhere.`);
        next = link?.slice(`${address}/v1.0`.length);
      }
      return found;
    },
  };
}

function reasonOf(text) {
  try {
    const { code, message } = JSON.parse(text).error;
    return `${code}: ${message}`;
  } catch {
    return "(no reason that can be read)";
  }
}
