import type { Attributes as Values } from "../../../../docs/openapi/core.ts";
import { callHost, isSuccess, segment } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form } from "../forms/form.ts";
import { Card, code, html, Table } from "../ui.ts";

/** The attributes of a user or a key. @param owner path of the user or key */
export function Attributes({ owner, attributes }: { owner: string; attributes: Values }) {
  const set = async ({ key = "", value = "" }: Record<string, string>, form: HTMLFormElement) => {
    const outcome = await callHost("POST", `${owner}/attributes`, { body: { key, value } });
    if (isSuccess(outcome)) form.reset();
    return outcome;
  };
  return html`<${Card} title="Attributes">
    <${Table} caption="Attributes" columns=${["Key", "Value", ""]}
      rows=${Object.entries(attributes).map(([key, value]) => [
        code(key),
        value,
        html`<${Button} label="Delete" kind="danger" needs="core.admin" title=${`Delete the attribute ${key}`} run=${() => callHost("DELETE", `${owner}/attributes/${segment(key)}`)} confirm=${{
          title: "Delete the attribute?",
          text: `${key} and its value are deleted.`,
          action: "Delete the attribute",
        }} />`,
      ])}
      empty="No attribute is set." />
    <${Form} label="Set" needs="core.admin" send=${set}>
      <div class="grid">
        <${Field} name="key" label="Key" suggestions=${Object.keys(attributes)} />
        <${Field} name="value" label="Value" />
      </div>
    <//>
  <//>`;
}
