import { createServer } from "node:net";
import { type PeerName, peerNames } from "../peers/peer-names.ts";

const names = ["console", "blobs", "tables", ...peerNames] as const;

/** A part of the local system that listens on a port next to the host's. */
type PartName = (typeof names)[number];

/** Ports by part; 0 is a free one. */
export type Ports = Readonly<Record<"console" | "blobs" | "tables" | PeerName, number>>;

/** A part whose fixed port is used by another process. */
export interface TakenPort {
  readonly part: PartName;
  readonly port: number;
}

/**
 * Returns the ports of console, storage and peers: those that follow the host's port, in a fixed order, so that addresses stay
 * the same at every start. A port that another process uses is replaced by 0 and returned in `taken`. All are 0 if the host's is.
 */
export async function choosePorts(
  hostPort: number,
): Promise<{ readonly ports: Ports; readonly taken: readonly TakenPort[] }> {
  const wanted = names.map((part, index) => ({ part, port: fixedPort(hostPort, index) }));
  const problems = await Promise.all(wanted.map(({ port }) => portProblem(port)));
  const isFree = (index: number) => problems[index] === undefined;
  return {
    ports: Object.fromEntries(wanted.map(({ part, port }, index) => [part, isFree(index) ? port : 0])) as Ports,
    taken: wanted.filter((_, index) => !isFree(index)),
  };
}

const maxPort = 65_535;

function fixedPort(hostPort: number, index: number): number {
  const port = hostPort + 1 + index;
  return hostPort === 0 || port > maxPort ? 0 : port;
}

/** Rejects with a hint if the host's port cannot be used, before anything is started. */
export async function requireFreePort(port: number): Promise<void> {
  const problem = await portProblem(port);
  if (problem !== undefined) throw new Error(`Port ${port} cannot be used (${problem}). PORT=0 uses a free port.`);
}

/** Returns why a port on the loopback cannot be used; undefined if it is free. */
function portProblem(port: number): Promise<string | undefined> {
  return new Promise(resolve => {
    const probe = createServer();
    probe.once("error", ({ code, message }: NodeJS.ErrnoException) =>
      resolve(code === "EADDRINUSE" ? "it is in use" : (code ?? message)),
    );
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(undefined)));
  });
}

/** Returns the port of the setting `PORT`. Throws if it is not a port. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= maxPort) return port;
  throw new Error("PORT must be a number from 0 to 65535.");
}
