import { join } from "node:path";
import { type CsvRow, csvRows } from "../csv-rows.ts";
import { readTexts } from "../inputs.ts";
import { type Line, linesOf, readEach } from "../lines.ts";
import { checkUser, type ImportUser } from "./imported-user.ts";
import { flagOf } from "./read-users.ts";

/** The tables that are read, with their columns. */
const tables = {
  users: ["id", "name", "auth", "attribute_association_id"],
  yubikeys: ["id", "prefix", "enabled"],
  user_yubikeys: ["user_id", "yubikey_id"],
  attributes: ["association_id", "key", "value"],
} as const;

/**
 * Reads the users of a folder with the tables of YubiAuth, each as CSV with a header. An OTP key that was disabled is not
 * assigned: it must not come back to life. Attributes whose keys begin with `_` are YubiAuth's own.
 * Throws if a file or column is missing.
 */
export async function readYubiAuth(folder: string): Promise<readonly Line<ImportUser>[]> {
  const names = Object.keys(tables) as (keyof typeof tables)[];
  const texts = await readTexts(names.map(name => join(folder, `${name}.csv`)));
  const [users = [], yubikeys = [], links = [], attributes = []] = texts.map(({ name, text }, index) =>
    checked(name, csvRows(name, text), tables[names[index] as keyof typeof tables]),
  );
  const file = texts[0]?.name ?? folder;
  const keys = new Map(yubikeys.map(({ values }) => [values.id, values]));
  const linksOf = Map.groupBy(links, ({ values }) => values.user_id);
  const attributesOf = Map.groupBy(attributes, ({ values }) => values.association_id);
  const readUser = (values: CsvRow["values"]) => {
    const { id, name: username, auth = "", attribute_association_id: association } = values;
    // YubiAuth links an OTP key once more each time it is assigned.
    const linked = new Set((linksOf.get(id) ?? []).map(link => link.values.yubikey_id));
    const own = [...linked].map(key => keys.get(key)).filter(key => key !== undefined);
    const prefixes = (isEnabled: boolean) =>
      own.filter(key => (flagOf(key.enabled || "no") === true) === isEnabled).map(({ prefix = "" }) => prefix);
    const disabled = prefixes(false);
    const hash = auth === "\\N" ? "" : auth;
    return checkUser({
      username,
      ...(hash === "" ? { password: "" } : { password_hash: hash }),
      attributes: Object.fromEntries(
        (association ? (attributesOf.get(association) ?? []) : [])
          .map(({ values: { key = "", value = "" } }) => [key, value] as const)
          .filter(([key]) => !key.startsWith("_")),
      ),
      otpkeys: prefixes(true),
      enabled: true,
      ...(disabled.length > 0 && { note: `not assigned because disabled: ${disabled.join(" ")}` }),
    });
  };
  return linesOf(
    file,
    readEach(
      users.map(({ line, values }) => [line, values] as const),
      readUser,
    ),
    "user",
  );
}

/** Returns the rows. Throws if they lack a column. */
function checked(file: string, rows: readonly CsvRow[], columns: readonly string[]): readonly CsvRow[] {
  const missing = columns.filter(name => rows[0] !== undefined && !(name in rows[0].values));
  if (missing.length > 0) throw new Error(`${file} has no column ${missing.join(", ")}.`);
  return rows;
}
