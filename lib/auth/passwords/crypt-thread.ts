import { parentPort, Worker, workerData } from "node:worker_threads";
import { hashSync } from "bcryptjs";
import { encrypt } from "unixcrypt";

// This module is also the code of the thread, so that a bundle has both in one file. Load it on demand only: in a
// bundle it would otherwise be part of a file that starts the app.

/** See `ImportedParameters`. */
interface CryptInput {
  readonly password: string;
  readonly scheme: "bcrypt" | "sha256-crypt" | "sha512-crypt";
  readonly cost: number;
  readonly salt: string;
}

const purpose = "crypt";

/**
 * Computes the tag of a scheme for which there are only packages in JavaScript, in a thread of its own: on the event
 * loop one would delay every call by up to a second. The caller limits the number of threads.
 */
export function cryptInThread(input: CryptInput): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const worker = new Worker(new URL(import.meta.url), { workerData: { purpose, input }, execArgv: [] });
  worker.once("message", resolve).once("error", reject);
  worker.once("exit", () => reject(new Error("The thread ended without a result")));
  return promise;
}

function tagOf({ password, scheme, cost, salt }: CryptInput): string {
  if (scheme === "bcrypt") return hashSync(password, `$2b$${String(cost).padStart(2, "0")}$${salt}`).slice(-31);
  const hash = encrypt(password, `$${scheme === "sha256-crypt" ? 5 : 6}$rounds=${cost}$${salt}`);
  return hash.slice(hash.lastIndexOf("$") + 1);
}

if (workerData?.purpose === purpose) parentPort?.postMessage(tagOf(workerData.input));
