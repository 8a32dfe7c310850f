import { ask, callHost, worked } from "./calls.js";
import { choices } from "./choices.js";
import { el, fill } from "./dom.js";
import { form } from "./form.js";
import { idpIds } from "./idps.js";
import { addButtons, keyFields } from "./order-keys.js";
import { addressFields, recipientFields } from "./order-recipient.js";
import { served } from "./surfaces.js";

/** @type {import("./main.js").View} */
export async function order({ main }) {
  if (!(await served(main, "connector"))) return "Order";
  const [sample, known, idps] = await Promise.all([ask("GET", "sample"), choices(), idpIds()]);
  let body = sample;
  const fields = el("div", {});
  const text = /** @type {HTMLTextAreaElement} */ (
    el("textarea", {
      id: "order-json",
      rows: 24,
      spellcheck: "false",
      "aria-describedby": "order-json-hint",
      oninput: () => read(),
    })
  );
  const write = () => {
    text.value = JSON.stringify(body, undefined, 2);
    text.removeAttribute("aria-invalid");
  };
  const draw = () => fill(fields, drawFields(body, { choices: known, idps, write, redraw }));
  const redraw = () => {
    write();
    draw();
  };
  const read = () => {
    try {
      body = JSON.parse(text.value);
      text.removeAttribute("aria-invalid");
      draw();
    } catch {
      // What no form can show is sent as it is typed.
      text.setAttribute("aria-invalid", "true");
    }
  };
  redraw();
  main.append(
    el(
      "p",
      { class: "lead" },
      "A valid order to begin with. The fields and the JSON at the end follow each other; the JSON is what is sent.",
    ),
    form(
      "Send the order",
      async () => {
        const outcome = await callHost("POST", "/v2/credential-requests", { body: text.value });
        if (worked(outcome)) location.hash = `#/request/${encodeURIComponent(outcome.body.data.credential_request_id)}`;
      },
      fields,
      el(
        "details",
        { class: "card" },
        el("summary", {}, "The JSON that is sent"),
        el("label", { for: "order-json" }, "Body of the call"),
        text,
        el(
          "p",
          { class: "hint", id: "order-json-hint" },
          "May be changed freely, also to what the service has to refuse.",
        ),
      ),
    ),
  );
  return "Order";
}

/**
 * @param {any} body
 * @param {import("./order-keys.js").OrderForm} form
 */
function drawFields(body, form) {
  const { write, redraw } = form;
  try {
    return [
      el("div", { class: "columns" }, recipientFields(body, write), ...addressFields(body, write)),
      ...keyFields(body.shipment, "shipment_items", "Shipped key", form),
      ...keyFields(body, "authenticators", "On-site authenticator", form),
      addButtons(body, redraw),
    ];
  } catch {
    return [el("p", { class: "notice" }, "The JSON below is no order that fields could show.")];
  }
}
