import { facts, readPeer, steer } from "./calls.js";
import { choices } from "./choices.js";
import { card, el, table } from "./dom.js";
import { drawFaults, faultForm } from "./faults.js";
import { button } from "./form.js";
import { code, counted, time } from "./format.js";
import { live } from "./live.js";
import { ownControls } from "./peer-controls.js";

/** Calls that are shown at most. */
const most = 50;

/** @type {import("./main.js").View} */
export async function peer({ main, left }, name) {
  const [{ peers }, known] = await Promise.all([facts(), choices()]);
  if (!Object.hasOwn(peers, name)) throw new Error(`There is no peer ${name}.`);
  const faults = live(left, signal => readPeer(name, "faults", signal), drawFaults);
  const asked = live(left, signal => readPeer(name, "requests", signal), drawAsked);
  const own = ownControls(name, left, known);
  main.append(
    el("p", { class: "lead" }, code(peers[name])),
    card(
      "Faults",
      faults.area,
      el(
        "div",
        { class: "buttons" },
        button("Clear all faults", () => steer(name, "DELETE", "faults").then(faults.refresh)),
        button("Let what hangs go on", () => steer(name, "POST", "release").then(asked.refresh)),
      ),
      faultForm(known, rule => steer(name, "POST", "faults", rule).then(faults.refresh)),
    ),
    ...own.cards,
    card(
      "What it was asked",
      asked.area,
      el(
        "div",
        { class: "buttons" },
        button("Forget these", () => steer(name, "DELETE", "requests").then(asked.refresh)),
      ),
    ),
  );
  await Promise.all([faults.ready, asked.ready, own.ready]);
  return `Peer ${name}`;
}

/** @param {{ total: number, hanging: number, requests: { method: string, path: string, at: number, status: number | null }[] }} asked */
const drawAsked = ({ total, hanging, requests }) => [
  el(
    "p",
    { class: "hint" },
    `${counted(total, "call")}, ${hanging === 0 ? "none" : hanging} hanging`,
    total > most && `; the last ${most}`,
  ),
  table(
    "Calls, the newest first",
    ["At", "Call", "Answer"],
    requests
      .slice(-most)
      .toReversed()
      .map(({ method, path, at, status }) => [time(at), el("code", {}, `${method} ${path}`), status ?? "none"]),
    "Nothing so far.",
  ),
];
