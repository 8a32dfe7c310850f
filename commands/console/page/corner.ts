import { useEffect } from "preact/hooks";
import { changes, connected, note } from "./calls.ts";
import { Copy } from "./forms/button.ts";
import { useStore } from "./store.ts";
import { html } from "./ui.ts";

/** Shows that the system is not responding. */
export function Connection() {
  const isConnected = useStore(connected);
  return html`<div role="alert">
    ${!isConnected && html`<p class="notice">The console is not responding. This page reconnects as soon as it runs again.</p>`}
  </div>`;
}

const shortMs = 8000;
/** What an action that leads to another view reported stays there: the view changes at once. */
const sameActionMs = 1000;

/** The outcome of the last call. A refusal stays until the next call, or until it is closed. */
export function Corner() {
  const last = useStore(note);
  const count = useStore(changes);
  const isGood = last?.status !== undefined && last.status < 400;
  useEffect(() => {
    let since = Date.now();
    const unsubscribe = note.subscribe(() => {
      since = Date.now();
    });
    const leave = () => Date.now() - since > sameActionMs && note.set(undefined);
    addEventListener("hashchange", leave);
    return () => {
      unsubscribe();
      removeEventListener("hashchange", leave);
    };
  }, []);
  useEffect(() => {
    if (!isGood) return;
    const close = () =>
      document.querySelector("#outcome:hover, #outcome:focus-within") ? again() : note.set(undefined);
    let timer = setTimeout(close, shortMs);
    const again = () => {
      timer = setTimeout(close, shortMs);
    };
    return () => clearTimeout(timer);
  }, [last, count]);
  return html`<div id="outcome" role="status" aria-live="polite">
    ${
      last &&
      html`<div class=${`outcome ${isGood ? "good" : "bad"}`}>
      <p><strong>${last.status ?? "Failed"}</strong> <span>${last.name}</span></p>
      ${last.text && html`<pre tabindex="0">${last.text}</pre>`}
      ${last.curl && html`<${Copy} text=${last.curl} label="Copy as curl" of=${last.name} />`}
      <button type="button" class="quiet" aria-label="Close this note" onClick=${() => note.set(undefined)}>×</button>
    </div>`
    }
  </div>`;
}
