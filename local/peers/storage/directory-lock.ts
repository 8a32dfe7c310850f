import { rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

const attempts = 30;
const pauseMs = 100;

/**
 * Locks the directory until this process ends, also after a kill: the lock `path` is a socket on which the process listens.
 * Waits up to three seconds, because the process before may still be writing its data. Two Azurites on one directory would
 * silently overwrite each other's data.
 */
export async function lockDirectory(path: string): Promise<void> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (await listened(path)) return;
    if (!(await alive(path))) rmSync(path, { force: true });
    else if (attempt < attempts) await pause(pauseMs);
  }
  throw new Error(`the directory ${process.cwd()} is in use by another process`);
}

const listened = (path: string) =>
  new Promise<boolean>((resolve, reject) => {
    const server = createServer(socket => socket.destroy());
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(false) : reject(error),
    );
    server.listen(path, () => {
      server.unref();
      resolve(true);
    });
  });

const alive = (path: string) =>
  new Promise<boolean>(resolve => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
