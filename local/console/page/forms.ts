import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import { ask, isSuccess, messageOf, note, type Outcome } from "./calls.ts";
import { createStore, useStore } from "./store.ts";
import { html } from "./ui.ts";

interface Problem {
  readonly path: string;
  readonly reason: string;
}

const Problems = createContext<readonly Problem[]>([]);

type Option = string | readonly [value: string, label: string];

export interface FieldProps {
  readonly label: string;
  /** Name in the values of the form. */
  readonly name?: string;
  /** How the API names the field in its refusals; default: `name`. */
  readonly path?: string;
  readonly hint?: string;
  /** Makes the field a selection. */
  readonly options?: readonly Option[];
  /** Known values; others are accepted too. */
  readonly suggestions?: readonly string[];
  readonly type?: string;
  readonly value?: string | number;
  /** If given, `value` is what the field shows; otherwise it is the first value. */
  readonly onValue?: (value: string) => void;
  readonly [attribute: string]: unknown;
}

/** A labelled field, with the API's problem if it has one. */
export function Field({
  label,
  name,
  path = name ?? "",
  hint,
  options,
  suggestions,
  type = "text",
  value,
  onValue,
  ...rest
}: FieldProps) {
  const id = useId();
  const problem = useContext(Problems).find(problem => path !== "" && problem.path === path)?.reason;
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  const shared = {
    id,
    name,
    "data-path": path,
    "aria-invalid": problem ? "true" : undefined,
    "aria-describedby": described || undefined,
    ...(onValue && { onInput: (event: InputEvent) => onValue((event.target as HTMLInputElement).value) }),
  };
  const valued = onValue ? { value } : { defaultValue: value };
  const control =
    options !== undefined
      ? html`<select ...${shared} ...${onValue && { value }}>
          ${options.map(option => {
            const [own, text] = typeof option === "string" ? [option, option] : option;
            return html`<option value=${own} selected=${own === String(value ?? "")}>${text}</option>`;
          })}
        </select>`
      : type === "textarea"
        ? html`<textarea ...${shared} spellcheck="false" ...${valued} ...${rest}></textarea>`
        : html`<input ...${shared} type=${type} autocomplete="off" list=${suggestions && `${id}-list`} ...${valued} ...${rest} />`;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${control}
    ${suggestions && html`<datalist id=${`${id}-list`}>${suggestions.map(text => html`<option value=${text}></option>`)}</datalist>`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${problem && html`<p class="field-problem" id=${`${id}-problem`}>${problem}</p>`}
  </div>`;
}

export type Values = Readonly<Record<string, string>>;

/** Returns the values of a form by name. Empty fields are left out. */
export const valuesOf = (form: HTMLFormElement): Values =>
  Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, String(value)]).filter(([, value]) => value !== ""),
  );

interface FormProps {
  readonly label: string;
  readonly send: (values: Values, form: HTMLFormElement) => Promise<Outcome | undefined>;
  /** Shown next to the button. */
  readonly actions?: unknown;
  readonly confirm?: Question | ((values: Values) => Question);
  readonly className?: string;
  readonly children?: ComponentChildren;
}

/** A form with one button. A refusal is shown at the fields that it names, and the first of them gets the focus. */
export function Form({ label, send, actions, confirm, className = "", children }: FormProps) {
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const [others, setOthers] = useState<readonly Problem[]>([]);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const fields = problems.map(({ path }) =>
      form.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`),
    );
    setOthers(problems.filter((_, at) => !fields[at]));
    for (const field of fields.slice(0, 1)) {
      field?.closest("details")?.setAttribute("open", "");
      field?.focus();
    }
  }, [problems]);
  const submit = useBusy(async () => {
    if (form.current === null) return;
    const values = valuesOf(form.current);
    if (confirm && !(await confirmed(typeof confirm === "function" ? confirm(values) : confirm))) return;
    const outcome = await send(values, form.current);
    setProblems(outcome && !isSuccess(outcome) ? problemsOf(outcome) : []);
  });
  return html`<${Problems.Provider} value=${problems}>
    <form ref=${form} class=${className} onSubmit=${(event: Event) => {
      event.preventDefault();
      void submit.run();
    }}>
      ${children}
      ${others.length > 0 && html`<ul class="problem" role="alert">${others.map(({ path, reason }) => html`<li>${path} ${reason}</li>`)}</ul>`}
      <div class="buttons">
        <button type="submit" class=${confirm ? "danger" : "main"} aria-disabled=${submit.isBusy ? "true" : undefined}>${label}</button>
        ${actions}
      </div>
    </form>
  <//>`;
}

/** Reads the fields that a refusal names: of the connector, of a peer's control, or from the sentence of the authentication server. */
function problemsOf({ body }: Outcome): readonly Problem[] {
  const { error_data, problems, error } = (body ?? {}) as {
    readonly error_data?: { readonly fields?: readonly Problem[] };
    readonly problems?: readonly Problem[];
    readonly error?: string;
  };
  const listed = error_data?.fields ?? problems;
  if (listed !== undefined) return listed;
  return (error ?? "").split("; ").flatMap(sentence => {
    const [, missing] = /^Missing required parameter\(s\)! (.+)$/.exec(sentence) ?? [];
    if (missing) return missing.split(", ").map(path => ({ path, reason: "is required" }));
    const [, path, reason] = /^([a-z_]+) (.+)$/.exec(sentence) ?? [];
    return path && reason ? [{ path, reason }] : [];
  });
}

/** Runs work once at a time, and shows why it failed. */
function useBusy(work: () => Promise<unknown>) {
  const [isBusy, setBusy] = useState(false);
  // The state changes at the next rendering only: too late for the second of two clicks.
  const running = useRef(false);
  const run = async () => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    try {
      await work();
    } catch (error) {
      note.set({ name: "Failed", text: messageOf(error) });
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return { isBusy, run };
}

interface ButtonProps {
  readonly label: string;
  readonly run: () => Promise<unknown>;
  readonly kind?: "main" | "danger" | "small";
  readonly title?: string;
  readonly confirm?: Question;
}

/** A button that waits while its work runs. */
export function Button({ label, run, kind, title, confirm }: ButtonProps) {
  const work = useBusy(async () => (confirm && !(await confirmed(confirm)) ? undefined : run()));
  return html`<button type="button" class=${kind} title=${title} aria-disabled=${work.isBusy ? "true" : undefined} onClick=${work.run}>${label}</button>`;
}

/** A button that copies a text. */
export function Copy({
  text,
  label = "Copy",
  of,
}: {
  text: string | (() => Promise<string>);
  label?: string;
  of: string;
}) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = useBusy(async () => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
    setCopied(true);
  });
  return html`<button type="button" class="small" aria-label=${`${isCopied ? "Copied" : label}: ${of}`} onClick=${copy.run}>${isCopied ? "Copied" : label}</button>`;
}

/** The text of a confirmation before something is deleted. */
export interface Question {
  readonly title: string;
  readonly text: string;
  readonly action: string;
}

const question = createStore<(Question & { readonly answer: (isConfirmed: boolean) => void }) | undefined>(undefined);

const confirmed = (asked: Question): Promise<boolean> => new Promise(answer => question.set({ ...asked, answer }));

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

/** Takes a file by drop or by choice. */
export function DropFile({
  label,
  hint,
  take,
}: {
  label: string;
  hint: string;
  take: (name: string, text: string) => Promise<void>;
}) {
  const [isOver, setOver] = useState(false);
  const use = async (files: FileList | null | undefined) => {
    setOver(false);
    const [file] = files ?? [];
    if (file === undefined) return;
    try {
      await take(file.name, await file.text());
    } catch (error) {
      note.set({ name: file.name, text: messageOf(error) });
    }
  };
  return html`<label
    class=${`drop ${isOver ? "over" : ""}`}
    onDragOver=${(event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    }}
    onDragLeave=${() => setOver(false)}
    onDrop=${(event: DragEvent) => {
      event.preventDefault();
      void use(event.dataTransfer?.files);
    }}
  >
    <span><strong>${label}</strong> ${hint}</span>
    <input type="file" onChange=${(event: Event) => {
      const input = event.target as HTMLInputElement;
      void use(input.files).then(() => {
        input.value = "";
      });
    }} />
  </label>`;
}

/** Returns the ids of the host's identity providers, the default one first. */
export async function idpIds(): Promise<readonly string[]> {
  const { body } = await ask<Outcome<{ IDP_DEFAULT?: string; IDP_CONFIGURATIONS?: object }>>("GET", "host/v2/status");
  const others = Object.keys(body?.IDP_CONFIGURATIONS ?? {}).filter(id => id !== body.IDP_DEFAULT);
  return body?.IDP_DEFAULT === undefined ? others : [body.IDP_DEFAULT, ...others];
}

interface BoundOptions {
  /** An empty field leaves the property out. */
  readonly isOptional?: boolean;
  readonly [option: string]: unknown;
}

/** Returns a function that makes fields for the properties of an object. @param path of the object in the body */
export const binder =
  (owner: Record<string, unknown>, path: string, changed: () => void) =>
  (name: string, label: string, { isOptional = false, ...options }: BoundOptions = {}) =>
    html`<${Field} label=${label} path=${`${path}.${name}`} value=${owner[name] ?? ""} ...${options} onValue=${(
      value: string,
    ) => {
      if (isOptional && value === "") delete owner[name];
      else owner[name] = options.type === "number" ? Number(value) : value;
      changed();
    }} />`;
