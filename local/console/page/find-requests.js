import { readHost } from "./calls.js";
import { badge, el, table } from "./dom.js";
import { button, field, form } from "./form.js";
import { code, counted, time } from "./format.js";

/**
 * Looks for requests as an operator does, by the API's own list, page by page.
 * @param {import("./choices.js").Choices} choices
 */
export function findRequests({ requestStates }) {
  const found = el("div", { "aria-live": "polite" });
  const show = async (/** @type {string} */ path) => {
    const { status, headers, body } = await readHost(path);
    if (status !== 200) {
      const fields = body?.error_data?.fields?.map((/** @type {any} */ each) => `${each.path} ${each.reason}`) ?? [];
      found.replaceChildren(
        el("p", { class: "problem" }, [`The host answers ${status}.`, body?.error_message, ...fields].join(" ")),
      );
      return;
    }
    const [, next] = /^<([^>]+)>; rel="next"$/.exec(headers.link ?? "") ?? [];
    found.replaceChildren(
      drawFound(body),
      next === undefined ? "" : button("Next page", () => show(pathOf(next)), { key: "next page" }),
    );
  };
  return el(
    "details",
    { class: "card" },
    el("summary", {}, "Find requests"),
    form(
      "Find",
      ({ created_after, ...filters }) => {
        const query = new URLSearchParams({ ...filters, $top: "20" });
        if (created_after !== undefined) query.set("created_after", new Date(created_after).toISOString());
        return show(`/v2/credential-requests?${query}`);
      },
      el(
        "div",
        { class: "grid" },
        field("state", "State", { options: [["", "any"], ...requestStates] }),
        field("user_id", "User", { hint: "Letter for letter." }),
        field("created_after", "Made after", { type: "datetime-local" }),
      ),
    ),
    found,
  );
}

/** @param {string} address */
const pathOf = address => {
  const { pathname, search } = new URL(address);
  return pathname + search;
};

/** @param {any[]} requests */
const drawFound = requests =>
  table(
    "Requests that were found, the oldest first",
    ["Request", "State", "Made", "Keys", "For"],
    requests.map(({ credential_request_id: id, state, created_at, shipment, authenticators = [] }) => {
      const keys = [...(shipment?.shipment_items ?? []), ...authenticators];
      const users = keys.flatMap(key => key.credentials.map((/** @type {any} */ { user_id }) => user_id));
      return [
        el("a", { href: `#/request/${encodeURIComponent(id)}` }, code(id)),
        badge(state),
        time(created_at),
        [
          shipment?.shipment_items && `${shipment.shipment_items.length} shipped`,
          authenticators.length > 0 && `${authenticators.length} on site`,
        ]
          .filter(Boolean)
          .join(", ") || counted(keys.length, "key"),
        [...new Set(users)].join(", "),
      ];
    }),
    "None was found on this page.",
  );
