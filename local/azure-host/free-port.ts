import { type AddressInfo, createServer } from "node:net";

/** Returns a port of the loopback address that no process listens on, for a program that needs to be told one. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
