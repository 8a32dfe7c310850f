import type { Client } from "openapi-fetch";
import type { paths, RegisteredKey } from "../../docs/openapi/connector.ts";
import { omitUndefined } from "../../lib/platform/collections.ts";
import { pageOf } from "../api.ts";
import { printJson, printTable, readPages } from "../operator-command.ts";

interface KeyFilters {
  readonly serial?: string;
  readonly user?: string;
  readonly state?: string;
  readonly top?: string;
  readonly page?: string;
  readonly all?: boolean;
  readonly csv?: boolean;
  readonly json?: boolean;
}

/** Prints the register of security keys as a table, JSON, or the CSV of the connector (C22). */
export async function listKeys(connector: Client<paths>, given: KeyFilters): Promise<void> {
  const filters = omitUndefined({
    serial_number: given.serial,
    user_id: given.user,
    // The API names the states if this is none.
    state: given.state as RegisteredKey["state"] | undefined,
  });
  if (given.csv) {
    const pages = await readPages(given, async page => {
      const params = { query: { ...filters, ...page } };
      const headers = { accept: "text/csv" };
      const { data, response } = await pageOf(connector.GET("/v2/security-keys", { params, headers, parseAs: "text" }));
      return { data: [data], response };
    });
    // Each page has a header line.
    return void process.stdout.write(
      pages.map((text, index) => (index === 0 ? text : text.slice(text.indexOf("\n") + 1))).join(""),
    );
  }
  const keys = await readPages(given, page =>
    pageOf(connector.GET("/v2/security-keys", { params: { query: { ...filters, ...page } } })),
  );
  if (given.json) return printJson(keys);
  printTable(
    [
      "REQUEST",
      "KEY",
      "#",
      "SERIAL",
      "MODEL",
      "USER",
      "IDP",
      "STATE",
      "ORDERED",
      "DELIVERED",
      "ACTIVATED",
      "REVOKED",
      "REPLACED BY",
    ],
    keys.map(each => [
      each.credential_request_id,
      each.key_id,
      each.credential,
      each.serial_number,
      each.aaguid,
      each.user_id,
      each.idp_id,
      each.may_be_registered ? `${each.state}, may be registered` : each.state,
      each.ordered_at,
      each.delivered_at,
      each.activated_at,
      each.revoked_at,
      each.replaced_by,
    ]),
  );
}
