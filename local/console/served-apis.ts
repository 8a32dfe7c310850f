import type { Outcome } from "./calls.ts";

/** A path of each API whose answer tells whether the host serves it: where it does not, the host answers a bare 404. */
const probes = {
  connector: "/v2/status",
  core: "/core/users?%24top=1",
  client: "/client/status",
} as const;

export type Apis = Readonly<Record<keyof typeof probes, boolean>>;

/** Which APIs the host serves; none where it does not answer. */
export async function servedApis(read: (path: string) => Promise<Outcome>): Promise<Apis> {
  const serves = async (path: string) => {
    try {
      const { status, body } = await read(path);
      return status !== 404 || body !== undefined;
    } catch {
      return false;
    }
  };
  const [connector, core, client] = await Promise.all([
    serves(probes.connector),
    serves(probes.core),
    serves(probes.client),
  ]);
  return { connector, core, client };
}
