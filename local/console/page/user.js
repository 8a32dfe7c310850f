import { attributeForm, attributesCard } from "./attributes.js";
import { callHost, readHost, segment, worked } from "./calls.js";
import { badge, card, el, factList, table } from "./dom.js";
import { button, field, form } from "./form.js";
import { live } from "./live.js";
import { served } from "./surfaces.js";

/** @type {import("./main.js").View} */
export async function user({ main, left }, id) {
  if (!(await served(main, "core"))) return "User";
  const path = `/core/users/${segment(id)}`;
  const { area, ready, refresh } = live(
    left,
    signal => readHost(path, { signal }),
    (outcome, again) => draw(outcome, path, again),
    { everyMs: 3000 },
  );
  const post = (/** @type {string} */ what, /** @type {object} */ body = {}) =>
    callHost("POST", `${path}/${what}`, { body }).then(refresh);
  main.append(
    area,
    el(
      "div",
      { class: "columns" },
      card(
        "Assign a key",
        form(
          "Assign",
          ({ otpkey = "" }) => post("otpkeys", { otpkey }),
          field("otpkey", "Prefix of the key", { required: true }),
        ),
      ),
      attributeForm(path, refresh),
      card(
        "Reset the password",
        form(
          "Reset",
          ({ password = "" }) => post("reset", { password }),
          field("password", "New password", { type: "password", autocomplete: "new-password", hint: "Empty: none." }),
        ),
      ),
      validation(path),
      card(
        "The account",
        el(
          "div",
          { class: "buttons" },
          button("End all sessions", () => post("sessions/delete")),
          button("Unlock", () => post("unlock")),
          button(
            "Delete this user",
            async () => {
              if (worked(await callHost("DELETE", path))) location.hash = "#/users";
            },
            { class: "danger" },
          ),
        ),
      ),
    ),
  );
  await ready;
  return "User";
}

/**
 * @param {import("./calls.js").Outcome} outcome
 * @param {string} path
 * @param {() => Promise<void>} refresh
 */
function draw({ status, body }, path, refresh) {
  if (status !== 200) return el("p", { class: "problem" }, `The host answers ${status}: ${body?.error ?? ""}`);
  return [
    card("Name and id", factList({ Name: body.name, Id: body.id })),
    card(
      "Keys",
      table(
        "Assigned keys",
        ["Prefix", ""],
        body.otpkeys.map((/** @type {string} */ prefix) => [
          el("a", { href: `#/otpkey/${segment(prefix)}`, "data-key": `key ${prefix}` }, el("code", {}, prefix)),
          button("Unassign", () => callHost("DELETE", `${path}/otpkeys/${segment(prefix)}`).then(refresh), {
            key: `unassign ${prefix}`,
          }),
        ]),
        "No key is assigned.",
      ),
    ),
    attributesCard(path, body.attributes, refresh),
  ];
}

/** @param {string} path */
function validation(path) {
  const result = el("p", { class: "state-line", "aria-live": "polite" });
  return card(
    "Validate",
    form(
      "Validate",
      async values => {
        const { body } = await callHost("POST", `${path}/validate`, { body: values });
        const said = (/** @type {boolean | undefined} */ good) => badge(good ? "valid" : "not valid");
        result.replaceChildren("Password ", said(body?.valid_password), " OTP ", said(body?.valid_otp));
      },
      field("password", "Password", { type: "password" }),
      field("otp", "OTP", { hint: "It is used up." }),
    ),
    result,
  );
}
