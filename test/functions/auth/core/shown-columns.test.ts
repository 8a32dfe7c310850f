import { describe, expect, it } from "vitest";
import { otpkeySummary, otpkeyView, userSummary, userView } from "../../../../functions/auth/views.ts";
import { otpKeyColumns } from "../../../../lib/auth/otpkeys/key-rows.table.ts";
import type { OtpKey, User } from "../../../../lib/auth/store.ts";
import { idKey } from "../../../../lib/auth/tables.table.ts";
import { loginColumns, userColumns } from "../../../../lib/auth/users/user-rows.table.ts";
import { newPrefix } from "../../../support/auth/software-key.ts";
import { testAuth } from "../../../support/auth/test-auth.ts";
import { sampleOf } from "../../../support/storage/sample-of.ts";

const auth = await testAuth();

/** Writes every column of a schema into a row. */
async function fill(table: string, partitionKey: string, rowKey: string, columns: object): Promise<void> {
  const rows = auth.deployment.tables.table(table);
  const row = await rows.get(partitionKey, rowKey);
  await rows.merge({ partitionKey, rowKey, ...columns }, row?.etag ?? "");
}

const fieldsOf = (view: { unwrap(): { readonly shape: object } }, ...others: readonly string[]) =>
  Object.keys(view.unwrap().shape)
    .filter(name => !others.includes(name))
    .sort();
const shownIn = (body: unknown) => Object.keys(body as object).sort();

describe("a user whose row has every column", () => {
  it("is shown with every field of the view, and with every field of the summary in each kind of list", async () => {
    const { id, name } = await auth.makeUser();
    await auth.post(`/core/users/${id}/attributes`, { key: "team", value: "red" });
    const sample = sampleOf(userColumns.schema()) as User;
    await fill("users", idKey(id), "user", userColumns.toColumns({ ...sample, id, name, otpkeys: [] }));
    await fill("users", idKey(id), "login", loginColumns.toColumns(sampleOf(loginColumns.schema()) as object));

    // Those of the throttle, which is another row.
    const ofThrottle = ["last_refusal", "locked_until"];
    expect(shownIn((await auth.get(`/core/users/${id}`)).body)).toEqual(fieldsOf(userView, ...ofThrottle));
    for (const filter of [{}, { $enabled: "true" }, { $prefix: name }, { team: "red" }]) {
      const [listed] = (await auth.get("/core/users", filter)).body as object[];
      expect([filter, shownIn(listed)]).toEqual([filter, fieldsOf(userSummary)]);
    }
  });
});

describe("an OTP key whose row has every column", () => {
  it("is shown with every field of the view, and listed with every field of the summary", async () => {
    const prefix = newPrefix();
    await auth.post("/core/otpkeys", { prefix });
    const sample = sampleOf(otpKeyColumns.schema()) as OtpKey;
    await fill("otpkeys", prefix, "key", otpKeyColumns.toColumns({ ...sample, prefix }));

    expect(shownIn((await auth.get(`/core/otpkeys/${prefix}`)).body)).toEqual(fieldsOf(otpkeyView, "users"));
    const [listed] = (await auth.get("/core/otpkeys")).body as object[];
    expect(shownIn(listed)).toEqual(fieldsOf(otpkeySummary));
  });
});
