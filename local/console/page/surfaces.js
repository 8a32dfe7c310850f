import { facts } from "./calls.js";
import { el } from "./dom.js";

/**
 * Whether the host serves a surface. Where it does not, the view says so and is to stop.
 * @param {HTMLElement} main
 * @param {"connector" | "core" | "client"} surface
 */
export async function served(main, surface) {
  const { host, surfaces } = await facts();
  if (surfaces[surface]) return true;
  main.append(
    el(
      "p",
      { class: "notice" },
      host === undefined ? "There is no host yet." : `The surface “${surface}” is not served by this host.`,
    ),
  );
  return false;
}
