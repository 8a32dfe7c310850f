import { useState } from "preact/hooks";
import type { UserSummary } from "../../../../docs/openapi/core.ts";
import { callHost, isSuccess, segment } from "../calls.ts";
import { Field } from "../forms/field.ts";
import { Form } from "../forms/form.ts";
import type { ViewProps } from "../model.ts";
import { Served } from "../outcomes/served.ts";
import { shownOutcome } from "../outcomes/shown-outcome.ts";
import { usePages } from "../pages.ts";
import { Card, html, Page, Table } from "../ui.ts";
import { usePrefixes } from "./otpkeys.ts";

export function Users({ facts }: ViewProps) {
  const [query, setQuery] = useState("");
  const { live, pager } = usePages<UserSummary>("/core/users", query);
  const create = async ({ username = "", password = "" }: Record<string, string>, form: HTMLFormElement) => {
    const outcome = await callHost("POST", "/core/users", { body: { username, password } });
    if (isSuccess(outcome)) form.reset();
    return outcome;
  };
  const filter = async ({ prefix, otpkey, enabled, since, attribute, value = "" }: Record<string, string>) => {
    const filters = {
      ...(prefix && { $prefix: prefix }),
      ...(otpkey && { otpkey }),
      ...(enabled && { $enabled: enabled }),
      ...(since && { $unused_since: new Date(since).toISOString() }),
      ...(attribute && { [attribute]: value }),
    };
    setQuery(String(new URLSearchParams(filters)));
    return undefined;
  };
  return html`<${Page} title="Users">
    <${Served} isServed=${facts.apis.core} name="Core API">
      <div class="columns">
        <${Card} title="New user" needs="core.admin">
          <${Form} label="Create" send=${create}>
            <${Field} name="username" label="Username" />
            <${Field} name="password" label="Password" type="password" autocomplete="new-password" hint="Empty: none." />
          <//>
        <//>
        <${Card} title="Filter">
          <${Form} label="Apply" send=${filter}>
            <${Field} name="prefix" label="Name begins with" />
            <${Field} name="otpkey" label="Has the key with prefix" suggestions=${usePrefixes()} />
            <${Field} name="enabled" label="State" options=${[["", "all"], ["true", "enabled"], ["false", "disabled"]]} />
            <${Field} name="since" label="Not signed in since" type="date" />
            <${Field} name="attribute" label="Has the attribute" />
            <${Field} name="value" label="With this value" />
          <//>
        <//>
      </div>
      <${Card} title="Users">
        ${shownOutcome(
          live,
          users => html`<${Table} caption="Users" columns=${["Name", "Id"]}
          rows=${users.map(({ id, name }) => [html`<a class="strong" href=${`#/user/${segment(String(id))}`}>${name}</a>`, id])}
          empty=${query ? "No user on this page matches the filter." : "There is no user."} />`,
        )}
        ${pager}
      <//>
    <//>
  <//>`;
}
