interface Loki {
  readonly filename: string;
  readonly collections: readonly { dirty: boolean }[];
  saveDatabaseInternal(callback?: (error?: unknown) => void): void;
}

/**
 * Lets LokiJS, Azurite's database, report that it cannot write to the disk, and write everything as soon as it can: it forgets what
 * changed before it knows that it was written. Throws if this version of LokiJS has no such method.
 * @param loki the prototype of LokiJS's databases
 */
export function reportFailedSaves(loki: Loki, report: (text: string) => void): void {
  const { saveDatabaseInternal } = loki;
  if (typeof saveDatabaseInternal !== "function")
    throw new Error(`LokiJS has no saveDatabaseInternal: adapt ${import.meta.url}`);
  const failing = new Set<string>();
  loki.saveDatabaseInternal = function (this: Loki, callback) {
    saveDatabaseInternal.call(this, error => {
      if (error) {
        for (const collection of this.collections) collection.dirty = true;
        if (!failing.has(this.filename))
          report(
            `The local system cannot write its data (${error instanceof Error ? error.message : String(error)}). ` +
              "It tries again every five seconds; what is not written when it stops is lost.",
          );
        failing.add(this.filename);
      } else if (failing.delete(this.filename)) report("The local system writes its data again.");
      callback?.(error);
    });
  };
}
