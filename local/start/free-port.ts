import { createServer } from "node:net";

/** Rejects with a hint where somebody listens on the port already: sooner than the host would find out. 0 is always free. */
export function refuseTakenPort(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", cause =>
      reject(new Error(`Port ${port} cannot be used (${codeOf(cause)}). PORT=0 takes a free one.`, { cause })),
    );
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve()));
  });
}

const codeOf = (error: NodeJS.ErrnoException): string =>
  error.code === "EADDRINUSE" ? "it is in use" : (error.code ?? error.message);
