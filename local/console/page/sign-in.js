import { callHost, readHost, worked } from "./calls.js";
import { card, el, factList } from "./dom.js";
import { button, field, form, valuesOf } from "./form.js";
import { code, time } from "./format.js";
import { nextOtp, remark, softwareKeys } from "./software-keys.js";
import { served } from "./surfaces.js";

/** The session's value is a secret: it lives as long as this page is open. */
/** @type {string | undefined} */
let session;

/** @type {import("./main.js").View} */
export async function signIn({ main }) {
  if (!(await served(main, "client"))) return "Sign-in";
  const keys = await softwareKeys().catch(() => []);
  const standing = el("div", {});
  const draw = async () => standing.replaceChildren(await sessionCard(keys, draw));
  main.append(el("div", { class: "columns" }, credentialsCard(keys, draw), standing));
  await draw();
  return "Sign-in";
}

/**
 * @param {import("./software-keys.js").SoftwareKey[]} keys
 * @param {() => Promise<void>} after
 */
function credentialsCard(keys, after) {
  const ask = button("Only ask whether these suffice", async () => {
    await callHost("POST", "/client/authenticate", { body: valuesOf(credentials) });
  });
  const credentials = form(
    { label: "Log in", beside: ask },
    async values => {
      const { status, body } = await callHost("POST", "/client/login", { body: values, headers: sessionHeader() });
      if (status === 200) session = body.session;
      await after();
    },
    field("username", "Username"),
    field("password", "Password", { type: "password", autocomplete: "current-password" }),
    otpField(keys),
  );
  return card("Sign in", credentials);
}

/**
 * A field for an OTP, with a button that lets a software key fill it in.
 * @param {import("./software-keys.js").SoftwareKey[]} keys
 */
function otpField(keys) {
  const otp = field("otp", "OTP", { hint: "Typed, or by a software key." });
  if (keys.length === 0) return otp;
  const said = el("p", { class: "hint", "aria-live": "polite" });
  const chosen = field("", "Software key", {
    options: keys.map(({ prefix, kind }) => /** @type {[string, string]} */ ([prefix, `${prefix} (${kind})`])),
  });
  const fillIn = button("Press the key", async () => {
    const select = chosen.querySelector("select");
    const input = otp.querySelector("input");
    if (select === null || input === null) return;
    const shown = await nextOtp(select.value);
    input.value = shown.otp;
    said.replaceChildren(remark(shown));
  });
  return el(
    "fieldset",
    {},
    el("legend", {}, "One-time password"),
    chosen,
    el("div", { class: "buttons" }, fillIn),
    said,
    otp,
  );
}

/**
 * @param {import("./software-keys.js").SoftwareKey[]} keys
 * @param {() => Promise<void>} after
 */
async function sessionCard(keys, after) {
  if (session === undefined) return card("Session", el("p", { class: "empty" }, "There is none."));
  const { status, body } = await readHost("/client/status", { headers: sessionHeader() });
  if (status !== 200) {
    session = undefined;
    return card("Session", el("p", { class: "problem" }, `The host answers ${status}: ${body?.error ?? ""}`));
  }
  return el(
    "div",
    {},
    card(
      "Session",
      factList({
        User: body.username,
        "User id": body.user_id,
        "Key used": code(body.prefix) ?? "none",
        Began: time(body._creation_time * 1000),
        "Last used": time(body._accessed_time * 1000),
      }),
      el(
        "div",
        { class: "buttons" },
        button("Look again", after),
        button("Log out", async () => {
          if (worked(await callHost("POST", "/client/logout", { headers: sessionHeader() }))) session = undefined;
          await after();
        }),
      ),
    ),
    card(
      "Change the password",
      form(
        "Change",
        async values => {
          await callHost("POST", "/client/password", { body: values, headers: sessionHeader() });
          await after();
        },
        field("oldpass", "Password so far", { type: "password", autocomplete: "current-password" }),
        field("newpass", "New password", { type: "password", autocomplete: "new-password", required: true }),
        otpField(keys),
      ),
    ),
  );
}

/** @returns {Record<string, string>} */
const sessionHeader = () => (session === undefined ? {} : { "x-service-session": session });
