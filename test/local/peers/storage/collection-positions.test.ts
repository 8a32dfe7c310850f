import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { rememberPositions } from "../../../../local/peers/storage/lokijs.ts";

interface Collection {
  name: string;
  insert(document: object): unknown;
  count(): number;
}

interface Database {
  readonly collections: readonly Collection[];
  getCollection(name: string): Collection | null;
  addCollection(name: string, options?: object): Collection;
  removeCollection(name: string): void;
  renameCollection(oldName: string, newName: string): Collection | null;
  on(event: "warning", listener: (message: string) => void): void;
  serialize(): string;
  loadJSON(json: string): void;
}

const fromAzurite = createRequire(createRequire(import.meta.url).resolve("azurite/dist/src/azurite.js"));
const Loki = fromAzurite("lokijs") as new (name: string, options: object) => Database;

class Patched extends (Loki as new (name: string, options: object) => object) {}
rememberPositions(Patched.prototype as never);

const open = (Type: new (name: string, options: object) => object) =>
  new Type("test.json", { persistenceMethod: "memory" }) as Database;

/** Returns the results of a sequence of calls that adds, removes, renames and reloads collections. */
const results = (db: Database) => {
  const seen: unknown[] = [];
  db.on("warning", message => seen.push(message));
  const look = () => {
    seen.push(db.collections.map(({ name }) => name));
    for (const name of ["a", "b", "c", "d", "x", "__proto__"]) {
      const found = db.getCollection(name);
      seen.push([name, found && db.collections.indexOf(found), found?.count()]);
    }
  };
  for (const name of ["a", "b", "c", "d"]) db.addCollection(name, { indices: ["key"] }).insert({ key: name });
  look();
  seen.push(db.addCollection("b").count());
  db.removeCollection("b");
  db.removeCollection("missing");
  look();
  db.addCollection("b", { unique: ["key"] });
  db.renameCollection("c", "x");
  db.renameCollection("missing", "y");
  look();
  const stored = db.serialize();
  db.addCollection("later");
  db.loadJSON(stored);
  look();
  return seen;
};

describe("LokiJS with positions that are remembered", () => {
  test("has the same collections in the same order and the same warnings as without", () => {
    expect(results(open(Patched))).toEqual(results(open(Loki)));
  });
});
