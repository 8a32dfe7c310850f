interface Collection {
  readonly name: string;
}

interface Loki {
  readonly collections: readonly Collection[];
  getCollection(name: string): Collection | null;
  addCollection(name: string, options?: object): Collection;
  removeCollection(name: string): void;
  renameCollection(oldName: string, newName: string): Collection | null;
}

/** Position of the first collection of each name; the list is complete up to `length`. */
interface Positions {
  readonly byName: Map<string, number>;
  length: number;
}

const patched = ["getCollection", "addCollection", "removeCollection", "renameCollection"] as const;

/**
 * Lets LokiJS, Azurite's database, remember where in its list a collection is. It compares the name with every collection at each
 * call otherwise, and twice more for a new table. Azurite has a collection for each table, and a run of all tests makes more than
 * 10,000 tables. Throws if this version of LokiJS has other methods.
 * @param loki the prototype of LokiJS's databases
 */
export function rememberPositions(loki: Loki): void {
  for (const method of patched)
    if (typeof loki[method] !== "function") throw new Error(`LokiJS has no ${method}: adapt ${import.meta.url}`);
  const { getCollection, addCollection, removeCollection, renameCollection } = loki;
  const known = new WeakMap<readonly Collection[], Positions>();

  const find = ({ collections }: Loki, name: string): Collection | undefined => {
    const positions = known.get(collections) ?? { byName: new Map<string, number>(), length: 0 };
    known.set(collections, positions);
    for (; positions.length < collections.length; positions.length++) {
      const added = collections[positions.length]?.name ?? "";
      if (!positions.byName.has(added)) positions.byName.set(added, positions.length);
    }
    return collections[positions.byName.get(name) ?? -1];
  };
  // LokiJS's own methods do the rest: what they search is only the list of the database.
  const withoutCollections = (db: Loki): Loki => Object.create(db, { collections: { value: [] } });

  loki.getCollection = function (this: Loki, name) {
    return find(this, name) ?? getCollection.call(withoutCollections(this), name);
  };
  loki.addCollection = function (this: Loki & { collections: Collection[] }, name, options) {
    if (find(this, name) !== undefined) return addCollection.call(this, name, options);
    const added = addCollection.call(withoutCollections(this), name, options);
    this.collections.push(added);
    return added;
  };
  loki.removeCollection = function (this: Loki, name) {
    removeCollection.call(this, name);
    known.delete(this.collections);
  };
  loki.renameCollection = function (this: Loki, oldName, newName) {
    const renamed = renameCollection.call(this, oldName, newName);
    known.delete(this.collections);
    return renamed;
  };
}
