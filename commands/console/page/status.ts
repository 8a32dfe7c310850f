import { useEffect } from "preact/hooks";
import { connected, note } from "./calls.ts";
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

/** The outcome of the last call, in a bar that has its place below the content, so that it covers nothing. */
export function StatusBar() {
  const last = useStore(note);
  useEffect(() => {
    const leave = () => {
      const last = note.get();
      if (last) note.set({ ...last, answer: undefined });
    };
    addEventListener("hashchange", leave);
    return () => removeEventListener("hashchange", leave);
  }, []);
  const isGood = last?.status !== undefined && last.status < 400;
  return html`<div id="outcome" role="status" aria-live="polite">
    ${
      last &&
      html`<div class=${`outcome ${isGood ? "good" : "bad"}`}>
      <p><strong>${last.status ?? "Failed"}</strong> <span title=${last.name}>${last.name}</span></p>
      ${last.answer && html`<details key=${last.name}><summary>Answer</summary><pre tabindex="0" role="region" aria-label="Answer">${last.answer}</pre></details>`}
      ${last.curl && html`<${Copy} text=${last.curl} label="Copy as curl" of=${last.name} />`}
      <button type="button" class="quiet" aria-label="Close this note" onClick=${() => note.set(undefined)}>×</button>
      ${last.text && html`<p class="advice">${last.text}</p>`}
    </div>`
    }
  </div>`;
}
