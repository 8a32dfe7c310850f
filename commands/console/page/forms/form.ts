import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isSuccess, type Outcome } from "../calls.ts";
import type { Need } from "../model.ts";
import { useAllowed } from "../store.ts";
import { html } from "../ui.ts";
import { useBusy } from "./button.ts";
import { confirmed, type Question } from "./confirm.ts";
import { type Problem, Problems } from "./field.ts";

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
  /** The role without which the form is not offered. */
  readonly needs?: Need;
  readonly children?: ComponentChildren;
}

/** A form with one button. A refusal is shown at the fields that it names, and the first of them gets the focus. */
export function Form({ label, send, actions, confirm, className = "", needs, children }: FormProps) {
  const isOffered = useAllowed(needs);
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
  if (!isOffered) return undefined;
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
