import { callHost, readHost, segment, worked } from "./calls.js";
import { card, el, table } from "./dom.js";
import { field, form } from "./form.js";
import { live } from "./live.js";
import { served } from "./surfaces.js";

/** @type {import("./main.js").View} */
export async function users({ main, left }) {
  if (!(await served(main, "core"))) return "Users";
  let query = "";
  const { area, ready, refresh } = live(left, signal => readHost(`/core/users${query}`, { signal }), draw, {
    everyMs: 3000,
  });
  main.append(
    el(
      "div",
      { class: "columns" },
      card(
        "New user",
        form(
          "Create",
          async ({ username = "", password = "" }, sent) => {
            const outcome = await callHost("POST", "/core/users", { body: { username, password } });
            if (worked(outcome)) sent.reset();
            await refresh();
          },
          field("username", "Username", { required: true }),
          field("password", "Password", { type: "password", autocomplete: "new-password", hint: "Empty: none." }),
        ),
      ),
      card(
        "Filter",
        form(
          "Apply",
          async ({ otpkey, attribute, value = "" }) => {
            const wanted = { ...(otpkey && { otpkey }), ...(attribute && { [attribute]: value }) };
            query = Object.keys(wanted).length === 0 ? "" : `?${new URLSearchParams(wanted)}`;
            await refresh();
          },
          field("otpkey", "Holds the key with prefix"),
          field("attribute", "Has the attribute"),
          field("value", "With this value"),
        ),
      ),
    ),
    card("Users", area),
  );
  await ready;
  return "Users";
}

/** @param {import("./calls.js").Outcome} outcome */
const draw = ({ status, body }) =>
  status !== 200
    ? el("p", { class: "problem" }, `The host answers ${status}: ${body?.error ?? ""}`)
    : table(
        "Users",
        ["Id", "Name"],
        body.map((/** @type {any} */ { id, name }) => [
          id,
          el("a", { href: `#/user/${segment(String(id))}`, "data-key": `user ${id}` }, name),
        ]),
        "No user fits.",
      );
