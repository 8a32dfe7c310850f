import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Real time plus what the test has added, for this process with its peers and for the hosts that it starts. */
export interface SharedClock {
  /** The file with what was added; `followClock` takes it. */
  readonly path: string;
  advance(ms: number): void;
  /** This process is back in real time. */
  close(): void;
}

/**
 * Puts this process, which can have one such clock at a time, on a clock that only `advance` moves faster than real
 * time.
 */
export function startSharedClock(): SharedClock {
  const directory = mkdtempSync(join(tmpdir(), "clock-"));
  const path = join(directory, "ahead");
  const file = openSync(path, "w+");
  const ahead = new Float64Array(1);
  const write = () => writeSync(file, ahead, 0, ahead.byteLength, 0);
  write();
  const real = Date.now;
  Date.now = () => real() + (ahead[0] ?? 0);
  return {
    path,
    advance: ms => {
      ahead[0] = (ahead[0] ?? 0) + ms;
      write();
    },
    close: () => {
      Date.now = real;
      closeSync(file);
      rmSync(directory, { recursive: true });
    },
  };
}

/**
 * Puts this process on the clock of another one. It is a file, because a host that was stopped gets a message too late.
 */
export function followClock(path: string): void {
  const file = openSync(path, "r");
  const ahead = new Float64Array(1);
  const real = Date.now;
  Date.now = () => {
    readSync(file, ahead, 0, ahead.byteLength, 0);
    return real() + (ahead[0] ?? 0);
  };
}
