import { useState } from "preact/hooks";
import { readPeer, segment, steer } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import type { Mail, ViewProps } from "../model.ts";
import { FactList, html, Page, shownLive, time, useLive } from "../ui.ts";

export interface MailPage {
  readonly total: number;
  readonly matching: number;
  readonly mails: readonly Mail[];
}

const pageSize = 50;

export function Mailbox({ argument: open }: ViewProps) {
  const [search, setSearch] = useState("");
  const [top, setTop] = useState(pageSize);
  const query = new URLSearchParams({ search, top: String(top) });
  const live = useLive(signal => readPeer<MailPage>("mail", `mails?${query}`, signal), [search, top]);
  const actions = html`<a class="button" href="#/peer/mail">The mail service</a>
    <${Button} label="Empty the mailbox" kind="danger" run=${() => steer("mail", "DELETE", "mails")} confirm=${{
      title: "Empty the mailbox?",
      text: `${live.data?.total ?? "All"} emails are deleted. They cannot be read again.`,
      action: "Delete all mails",
    }} />`;
  return html`<${Page} title="Mailbox" lead="Mails that the connector sent. Nothing leaves this machine." actions=${actions}>
    <div class=${`mailbox ${open ? "open" : ""}`}>
      <section class="card" aria-label="Mails">
        <${Field} label="Filter" value=${search} hint="Part of the subject or of an address." type="search" onValue=${(
          text: string,
        ) => {
          setSearch(text);
          setTop(pageSize);
        }} />
        ${shownLive(live, ({ total, matching, mails }) =>
          total === 0
            ? html`<p class="empty">No email has come. PIN emails come when keys with a PIN are activated.</p>`
            : html`<p class="hint" aria-live="polite">${mails.length} of ${matching}${matching < total ? ` that match, ${total} in all` : ""}</p>
                <ul class="mail-list">
                  ${mails.map(
                    ({ id, subject, to, at }) => html`<li key=${id}>
                      <a href=${`#/mailbox/${segment(id)}`} aria-current=${id === open ? "true" : undefined}>
                        <strong>${subject}</strong><span>${to.join(", ")}</span>${time(at)}
                      </a>
                    </li>`,
                  )}
                </ul>
                ${mails.length < matching && html`<${Button} label="Show more" run=${async () => setTop(top + pageSize)} />`}`,
        )}
      </section>
      ${open ? html`<${OpenMail} key=${open} id=${open} />` : html`<p class="empty">Choose an email to read it.</p>`}
    </div>
  <//>`;
}

function OpenMail({ id }: { id: string }) {
  const live = useLive(signal => readPeer<Mail>("mail", `mails/${segment(id)}`, signal), [id], 60_000);
  return html`<section class="card mail-open" aria-label="Open mail">
    <p class="back"><a href="#/mailbox">All emails</a></p>
    ${shownLive(
      live,
      ({ from, to, subject, text, html: markup, at }) => html`
        <h2>${subject}</h2>
        <${FactList} rows=${{ From: from, To: to.join(", "), At: time(at) }} />
        ${
          // The markup comes from a page of its own, whose frame lets it do nothing.
          markup !== undefined &&
          html`<iframe class="mail" title=${`The email “${subject}”`} sandbox="" referrerpolicy="no-referrer" src=${`/mails/${segment(id)}`}></iframe>`
        }
        ${text !== undefined && html`<details><summary>As plain text</summary><pre tabindex="0" role="region" aria-label="Plain text">${text}</pre></details>`}
      `,
    )}
  </section>`;
}
