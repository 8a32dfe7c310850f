import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type * as z from "zod";
import { otpKeyColumns } from "../../lib/auth/otpkeys/key-rows.table.ts";
import { sessionColumns } from "../../lib/auth/sessions/sessions.table.ts";
import { addressColumns } from "../../lib/auth/sign-in/addresses.table.ts";
import { throttleColumns } from "../../lib/auth/sign-in/throttles.table.ts";
import { goneColumns, loginColumns, userColumns } from "../../lib/auth/users/user-rows.table.ts";
import { claimColumns } from "../../lib/connector/create/claims.table.ts";
import { deliveryColumns, eventColumns } from "../../lib/connector/events/event-rows.table.ts";
import { sinkColumns } from "../../lib/connector/events/sink-state.table.ts";
import { credentialSchema } from "../../lib/connector/model/credential.ts";
import { dueColumns } from "../../lib/connector/storage/due-index.table.ts";
import { listColumns } from "../../lib/connector/storage/lists.table.ts";
import { requestColumns, securityKeyColumns } from "../../lib/connector/storage/request-rows.table.ts";
import { shipmentColumns } from "../../lib/connector/storage/shipment-records.table.ts";
import { sampleOf } from "../support/storage/sample-of.ts";

const pages = {
  "docs/storage-auth.md": {
    user: userColumns,
    "deleted user": goneColumns,
    login: loginColumns,
    "OTP key": otpKeyColumns,
    session: sessionColumns,
    throttle: throttleColumns,
    address: addressColumns,
  },
  "docs/storage.md": {
    request: requestColumns,
    "security key": securityKeyColumns,
    event: eventColumns,
    delivery: deliveryColumns,
    "event sink": sinkColumns,
    due: dueColumns,
    list: listColumns,
    shipment: shipmentColumns,
    claim: claimColumns,
    credential: { schema: () => credentialSchema, toColumns: (value: object) => value },
  },
} as const;

interface Columns {
  schema(): z.ZodType;
  toColumns(value: never): object;
}

const columnsOf = ({ schema, toColumns }: Columns): readonly string[] =>
  Object.keys(toColumns(sampleOf(schema()) as never));

describe.each(Object.entries(pages))("%s", (path, rows) => {
  const text = readFileSync(path, "utf8");
  test.each(Object.entries<Columns>(rows))("names every column of the row: %s", (_, row) => {
    expect(columnsOf(row).filter(name => !text.includes(`\`${name}\``))).toEqual([]);
  });
});
