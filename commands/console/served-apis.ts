import type { Outcome } from "./calls.ts";

/** A path of each API. A host that does not serve the API answers a bare 404. */
const probes = {
  connector: "/v2/status",
  core: "/core/users?%24top=1",
  client: "/client/status",
} as const;

export type Apis = Readonly<Record<keyof typeof probes, boolean>>;

const servedMaxAgeMs = 30_000;
const otherMaxAgeMs = 2000;

/** Returns a function that returns which APIs the host serves; none if it is not responding. It asks again after a while. */
export function createServedApis(read: (path: string) => Promise<Outcome>): () => Promise<Apis> {
  const serves = async (path: string) => {
    try {
      const { status, body } = await read(path);
      return status !== 404 || body !== undefined;
    } catch {
      return false;
    }
  };
  let known: { readonly apis: Apis; readonly until: number } | undefined;
  return async () => {
    if (known !== undefined && known.until > Date.now()) return known.apis;
    const [connector, core, client] = await Promise.all([
      serves(probes.connector),
      serves(probes.core),
      serves(probes.client),
    ]);
    const maxAgeMs = connector && core && client ? servedMaxAgeMs : otherMaxAgeMs;
    known = { apis: { connector, core, client }, until: Date.now() + maxAgeMs };
    return known.apis;
  };
}
