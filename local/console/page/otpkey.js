import { attributeForm, attributesCard } from "./attributes.js";
import { ask, callHost, readHost, segment, worked } from "./calls.js";
import { badge, card, el, factList } from "./dom.js";
import { button } from "./form.js";
import { code } from "./format.js";
import { live } from "./live.js";
import { nextOtp, remark, softwareKeys } from "./software-keys.js";
import { served } from "./surfaces.js";

/** @type {import("./main.js").View} */
export async function otpkey({ main, left }, prefix) {
  if (!(await served(main, "core"))) return "Key";
  const path = `/core/otpkeys/${segment(prefix)}`;
  const own = (await softwareKeys()).find(key => key.prefix === prefix);
  const { area, ready, refresh } = live(
    left,
    signal => readHost(path, { signal }),
    (outcome, again) => draw(outcome, path, again),
    { everyMs: 3000 },
  );
  main.append(
    area,
    ...(own === undefined ? [] : [codes(own)]),
    attributeForm(path, refresh),
    card(
      "The key",
      el(
        "div",
        { class: "buttons" },
        button("Enable", () => callHost("POST", `${path}/enable`).then(refresh)),
        button("Disable", () => callHost("POST", `${path}/disable`).then(refresh)),
        button(
          "Delete this key",
          async () => {
            if (!worked(await callHost("DELETE", path))) return;
            if (own !== undefined) await ask("DELETE", `keys/${prefix}`);
            location.hash = "#/otpkeys";
          },
          { class: "danger" },
        ),
      ),
    ),
  );
  await ready;
  return "Key";
}

/**
 * @param {import("./calls.js").Outcome} outcome
 * @param {string} path
 * @param {() => Promise<void>} refresh
 */
function draw({ status, body }, path, refresh) {
  if (status !== 200) return el("p", { class: "problem" }, `The host answers ${status}: ${body?.error ?? ""}`);
  const { prefix, id, enabled, stopped, attributes } = body;
  return [
    card(
      "Prefix and state",
      factList({
        Prefix: code(prefix),
        Id: id,
        State: badge(stopped ? "stopped" : enabled ? "enabled" : "disabled"),
      }),
    ),
    attributesCard(path, attributes, refresh),
  ];
}

/** @param {import("./software-keys.js").SoftwareKey} key */
function codes({ prefix, kind }) {
  const shown = el("p", { class: "state-line", "aria-live": "polite" }, "A code is made when it is asked for.");
  return card(
    `Software key of kind ${kind}`,
    shown,
    el(
      "div",
      { class: "buttons" },
      button("Next code", async () => {
        const otp = await nextOtp(prefix);
        shown.replaceChildren(el("code", { class: "otp" }, otp.otp), ` ${remark(otp)}`);
      }),
    ),
  );
}
