import { useEffect, useRef } from "preact/hooks";
import { createStore, useStore } from "../store.ts";
import { html } from "../ui.ts";

/** The text of a confirmation before something is deleted. */
export interface Question {
  readonly title: string;
  readonly text: string;
  readonly action: string;
}

const question = createStore<(Question & { readonly answer: (isConfirmed: boolean) => void }) | undefined>(undefined);

/** Asks the question. Returns whether it was confirmed. */
export const confirmed = (asked: Question): Promise<boolean> =>
  new Promise(answer => question.set({ ...asked, answer }));

/** The dialog of all questions. */
export function ConfirmDialog() {
  const asked = useStore(question);
  const dialog = useRef<HTMLDialogElement>(null);
  const end = (isConfirmed: boolean) => {
    asked?.answer(isConfirmed);
    question.set(undefined);
    dialog.current?.close();
  };
  useEffect(() => {
    if (asked === undefined) return;
    dialog.current?.showModal();
    // Another view has other questions.
    const leave = () => end(false);
    addEventListener("hashchange", leave);
    return () => removeEventListener("hashchange", leave);
  }, [asked]);
  return html`<dialog ref=${dialog} aria-labelledby="question" onCancel=${() => end(false)}>
    ${
      asked &&
      html`<h2 id="question">${asked.title}</h2>
        <p>${asked.text}</p>
        <div class="buttons">
          <button type="button" onClick=${() => end(false)}>Keep</button>
          <button type="button" class="danger main" onClick=${() => end(true)}>${asked.action}</button>
        </div>`
    }
  </dialog>`;
}
