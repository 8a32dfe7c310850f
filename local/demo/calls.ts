import * as z from "zod";
import type { Facts } from "../start/run-file.ts";
import type { Teller } from "./print.ts";

/** The HTTP calls of the story: those of the caller are told as they are made, those of the connector are read from its peers. */
export interface Calls {
  /** Calls the API. Rejects on another status than expected. */
  api(method: "GET" | "POST", path: string, expected: number, body?: object): Promise<unknown>;
  /** Asks a simulated peer for what only its owner would see. Is not told. */
  peer<S extends z.ZodType>(name: string, path: string, answer: S, body?: object): Promise<z.output<S>>;
  /** Tells what the connector has asked its peers since the last time. */
  tellPeerCalls(): Promise<void>;
}

const asked = z.object({
  requests: z.array(z.object({ method: z.string(), path: z.string(), at: z.number(), status: z.number().nullable() })),
});

/** Peers whose calls are part of the story; the vault and the issuer of tokens are asked for keys and secrets all along. */
const shown: Readonly<Record<string, string>> = {
  entra: "identity provider",
  pingone: "PingOne",
  delivery: "delivery service",
  enrollment: "enrollment service",
  rfpr: "pre-registration API",
  mail: "mail service",
};

export function createCalls({ host, peers }: Facts, token: string, teller: Teller, end: AbortSignal): Calls {
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
    api: async (method, path, expected, body) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const content = body && { body: JSON.stringify(body) };
      const response = await fetch(host + path, { method, headers, ...content, signal: end });
      const text = await response.text();
      teller.call(`${method} ${path}`, response.status);
      if (response.status !== expected) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
      return text === "" ? undefined : JSON.parse(text);
    },
    tellPeerCalls: async () => {
      const names = Object.keys(shown);
      const answers = await Promise.all(names.map(name => peer(name, "requests", asked)));
      const fresh = answers.flatMap(({ requests }, index) => {
        const name = names[index] ?? "";
        const lately = requests.slice(seen[name] ?? 0);
        seen[name] = requests.length;
        return lately.map(call => ({ ...call, name: shown[name] ?? name }));
      });
      teller.behind(
        fresh
          .sort((a, b) => a.at - b.at)
          .map(({ name, method, path, status }) => `connector → ${name}: ${method} ${shortly(path)} ${status}`),
      );
    },
  };
}

/** Ids are told by their beginnings: a line has room for one. */
const shortly = (path: string) => decodeURIComponent(path).replace(/\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f-]{22}/g, "$1…");
