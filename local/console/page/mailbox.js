import { readPeer, steer } from "./calls.js";
import { card, el, factList } from "./dom.js";
import { button } from "./form.js";
import { time } from "./format.js";
import { live } from "./live.js";

/** @type {import("./main.js").View} */
export async function mailbox({ main, left }) {
  const { area, ready, refresh } = live(left, signal => readPeer("mail", "mails", signal), draw);
  main.append(
    el(
      "div",
      { class: "bar" },
      button("Empty the mailbox", () => steer("mail", "DELETE", "mails").then(refresh), { class: "danger" }),
      el("a", { class: "button", href: "#/peer/mail" }, "The mail service"),
    ),
    area,
  );
  await ready;
  return "Mailbox";
}

/** @param {any[]} mails the oldest first */
const draw = mails =>
  mails.length === 0 ? el("p", { class: "empty" }, "No mail has come.") : mails.toReversed().map(drawMail);

/** The HTML comes from a page of its own, whose frame lets it do nothing. */
/** @param {any} mail */
const drawMail = ({ id, from, to, subject, text, html, at }) =>
  card(
    subject,
    factList({ From: from, To: to.join(", "), At: time(at) }),
    html !== undefined &&
      el("iframe", {
        class: "mail",
        title: `The mail “${subject}”`,
        src: `/mails/${encodeURIComponent(id)}`,
        sandbox: true,
        referrerpolicy: "no-referrer",
      }),
    text !== undefined &&
      el(
        "details",
        { "data-key": `text ${id}` },
        el("summary", {}, "As plain text"),
        el("pre", { class: "mail-text", tabindex: "0" }, text),
      ),
  );
