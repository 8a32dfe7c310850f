import { readHost, segment } from "./calls.js";
import { choices } from "./choices.js";
import { badge, card, el, table } from "./dom.js";
import { live } from "./live.js";
import { newKeyCard, softwareKeys } from "./software-keys.js";
import { served } from "./surfaces.js";

/** @type {import("./main.js").View} */
export async function otpkeys({ main, left }) {
  if (!(await served(main, "core"))) return "Keys";
  const load = async (/** @type {AbortSignal} */ signal) => ({
    outcome: await readHost("/core/otpkeys", { signal }),
    own: await softwareKeys(),
  });
  const { area, ready, refresh } = live(left, load, draw, { everyMs: 3000 });
  main.append(newKeyCard(await choices(), refresh), card("One-time-password keys", area));
  await ready;
  return "Keys";
}

/** @param {{ outcome: import("./calls.js").Outcome, own: import("./software-keys.js").SoftwareKey[] }} loaded */
const draw = ({ outcome: { status, body }, own }) =>
  status !== 200
    ? el("p", { class: "problem" }, `The host answers ${status}: ${body?.error ?? ""}`)
    : table(
        "Keys",
        ["Prefix", "State", "Software key"],
        body.map((/** @type {any} */ { prefix, enabled }) => [
          el("a", { href: `#/otpkey/${segment(prefix)}`, "data-key": `key ${prefix}` }, el("code", {}, prefix)),
          badge(enabled ? "enabled" : "disabled"),
          own.find(key => key.prefix === prefix)?.kind ?? "no",
        ]),
        "There is no key.",
      );
