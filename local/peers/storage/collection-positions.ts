interface Loki {
  readonly collections: readonly { readonly name: string }[];
  getCollection(name: string): { readonly name: string } | null;
}

/**
 * Lets LokiJS, Azurite's database, remember where in its list a collection was. It compares the name with every collection at
 * each call otherwise. Azurite has a collection for each table, and a run of all tests makes more than 10,000 tables.
 * @param loki the prototype of LokiJS's databases
 */
export function rememberPositions(loki: Loki): void {
  const { getCollection } = loki;
  const positions = new Map<string, number>();
  loki.getCollection = function (this: Loki, name) {
    const remembered = this.collections[positions.get(name) ?? -1];
    if (remembered?.name === name) return remembered;
    const found = getCollection.call(this, name);
    if (found !== null) positions.set(name, this.collections.indexOf(found));
    return found;
  };
}
