interface Collection {
  readonly name: string;
  dirty: boolean;
}

/** What is changed of a database of LokiJS, which Azurite uses. */
interface Loki {
  readonly filename: string;
  readonly collections: readonly Collection[];
  getCollection(name: string): Collection | null;
  saveDatabaseInternal(callback?: (error?: unknown) => void): void;
}

/**
 * Lets LokiJS, Azurite's database, remember where in its list a collection is. It compares the name with every collection at each
 * call otherwise. Azurite has a collection for each table, and a run of all tests makes more than 10,000 tables.
 * Throws if this version of LokiJS has no such method.
 * @param loki the prototype of LokiJS's databases
 */
export function rememberPositions(loki: Loki): void {
  const { getCollection } = loki;
  if (typeof getCollection !== "function") throw new Error(`LokiJS has no getCollection: adapt ${import.meta.url}`);
  const known = new WeakMap<Loki, Map<string, number>>();
  loki.getCollection = function (this: Loki, name) {
    const positions = known.get(this) ?? new Map<string, number>();
    known.set(this, positions);
    // A collection may have been removed, renamed or loaded again since.
    const remembered = this.collections[positions.get(name) ?? -1];
    if (remembered?.name === name) return remembered;
    const found = getCollection.call(this, name);
    if (found !== null) positions.set(name, this.collections.indexOf(found));
    return found;
  };
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
