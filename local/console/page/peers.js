import { facts, readPeer } from "./calls.js";
import { card, el, table } from "./dom.js";
import { code, counted } from "./format.js";
import { live } from "./live.js";

/** @type {import("./main.js").View} */
export async function peers({ main, left }) {
  const load = async (/** @type {AbortSignal} */ signal) => {
    const { peers } = await facts();
    return Promise.all(
      Object.entries(peers).map(async ([name, url]) => {
        const [asked, faults] = await Promise.all([
          readPeer(name, "requests", signal),
          readPeer(name, "faults", signal),
        ]);
        return { name, url, total: asked.total, hanging: asked.hanging, faults: faults.length };
      }),
    );
  };
  const { area, ready } = live(left, load, draw, { everyMs: 2000 });
  main.append(
    el(
      "p",
      { class: "lead" },
      "Simulated systems on ports of their own. Each tells what it was asked, and can be told to fail.",
    ),
    card("All peers", area),
  );
  await ready;
  return "Peers";
}

/** @param {{ name: string, url: string, total: number, hanging: number, faults: number }[]} listed */
const draw = listed =>
  table(
    "Simulated peers",
    ["Peer", "Address", "Asked", "Hanging", "Faults set"],
    listed.map(({ name, url, total, hanging, faults }) => [
      el("a", { href: `#/peer/${encodeURIComponent(name)}`, "data-key": name }, name),
      code(url),
      counted(total, "time"),
      hanging || "none",
      faults || "none",
    ]),
    "This system has no peers.",
  );
