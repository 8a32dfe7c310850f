interface Collection {
  readonly name: string;
}

interface Loki {
  readonly collections: readonly Collection[];
  getCollection(name: string): Collection | null;
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
