import { createContext } from "preact";
import { useContext, useId } from "preact/hooks";
import { html } from "../ui.ts";

/** What a refusal says of a field. */
export interface Problem {
  readonly path: string;
  readonly reason: string;
}

/** The problems of the form around a field. */
export const Problems = createContext<readonly Problem[]>([]);

type Option = string | readonly [value: string, label: string];

interface FieldProps {
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
