import * as z from "zod";
import type { Facts } from "../start/run-file.ts";
import type { Narrator } from "./print.ts";

/** The HTTP calls of the story. Those of the callers of the APIs are printed as they occur; the peers report those of the connector. */
export interface Calls {
  /**
   * Calls an API and prints the call. Rejects if the status is not the expected one.
   * @param session of a user, for the Client API
   */
  api(method: "GET" | "POST", path: string, expected: number, body?: object, session?: string): Promise<unknown>;
  /** Asks a simulated peer for what only its owner would see, without printing it. */
  peer<S extends z.ZodType>(name: string, path: string, answer: S, body?: object): Promise<z.output<S>>;
  /** Prints the calls of the connector to its peers since the last time. */
  showPeerCalls(): Promise<void>;
}

const asked = z.object({
  requests: z.array(z.object({ method: z.string(), path: z.string(), at: z.number(), status: z.number().nullable() })),
});

/** Peers whose calls are part of the story. Calls to vault and token issuer occur all the time. */
const shown: Readonly<Record<string, string>> = {
  entra: "identity provider",
  pingone: "PingOne",
  delivery: "delivery service",
  enrollment: "enrollment service",
  rfpr: "pre-registration API",
  mail: "mail service",
};

export function createCalls({ host, peers }: Facts, token: string, narrator: Narrator, end: AbortSignal): Calls {
  const peer: Calls["peer"] = async (name, path, answer, body) => {
    const post = body && {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    };
    const response = await fetch(`${peers[name]}/_control/${path}`, { ...post, signal: end });
    if (!response.ok) throw new Error(`the simulated peer ${name} answered ${response.status} to ${path}.`);
    return answer.parse(await response.json());
  };
  const seen: Record<string, number> = {};
  return {
    peer,
    api: async (method, path, expected, body, session) => {
      const headers = {
        "content-type": "application/json",
        ...(path.startsWith("/client/")
          ? session !== undefined && { "x-service-session": session }
          : { authorization: `Bearer ${token}` }),
      };
      const content = body && { body: JSON.stringify(body) };
      const response = await fetch(host + path, { method, headers, ...content, signal: end });
      const text = await response.text();
      narrator.call(`${method} ${path}`, response.status);
      if (response.status !== expected) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
      return text === "" ? undefined : JSON.parse(text);
    },
    showPeerCalls: async () => {
      const names = Object.keys(shown);
      const answers = await Promise.all(names.map(name => peer(name, "requests", asked)));
      const fresh = answers.flatMap(({ requests }, index) => {
        const name = names[index] ?? "";
        const lately = requests.slice(seen[name] ?? 0);
        seen[name] = requests.length;
        return lately.map(call => ({ ...call, name: shown[name] ?? name }));
      });
      narrator.behind(
        fresh
          .sort((a, b) => a.at - b.at)
          .map(({ name, method, path, status }) => `connector → ${name}: ${method} ${shortly(path)} ${status}`),
      );
    },
  };
}

/** Shortens ids to their first digits, so that a call fits into a line. */
const shortly = (path: string) => decodeURIComponent(path).replace(/\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f-]{22}/g, "$1…");
