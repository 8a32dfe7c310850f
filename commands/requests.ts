// Orders security keys from a file, finds and shows credential requests of the connector with their events, resends PINs, cancels and
// revokes, lists security keys, and offboards people (C6, C14, C15, C19 to C23).
import type { CredentialRequest, paths } from "../docs/openapi/connector.ts";
import { omitUndefined } from "../lib/platform/collections.ts";
import { dataOf, pageOf } from "./api.ts";
import { wholeNumber } from "./import/arguments.ts";
import {
  exitHelp,
  operatorHelp,
  pageHelp,
  pageOptions,
  printJson,
  printTable,
  readPages,
  runOperatorCommand,
} from "./operator-command.ts";
import { listKeys } from "./requests/list-keys.ts";
import { offboard } from "./requests/offboard.ts";
import { orderFile } from "./requests/order-file.ts";
import { printEvents } from "./requests/print-events.ts";
import { printRequest, usersOf } from "./requests/print-request.ts";
import { revoke } from "./requests/revoke.ts";

const name = "npm run requests";
const pages = ["top", "page", "all"] as const;
const text = { type: "string" } as const;
const command = {
  name,
  help: `Orders security keys from a file; finds credential requests of the connector, shows what happened to them, resends
PINs, cancels and revokes; lists security keys; ends the credentials of a person who leaves.

Usage: [API_TOKEN=<token>] npm run requests -- <action> --url URL [options]
  order FILE            order security keys for the people in a CSV file: docs/integrate.md, "Orders from a file"
  find                  list requests, all or those that every filter matches, with the ID that other actions take
  show ID               show a request with its keys, credentials and shipment
  events ID             list the events of a request with their deliveries to event sinks, and the last error of each
                        sink over all requests
  resend-pin ID         send the PIN email of each key with a known PIN again, to the "PIN emails to" of show
  cancel ID             cancel what is not produced yet
  revoke ID [KEY [N]]   remove active credentials at their identity providers: all of a request, those of one key (KEY
                        of show), or one of them (its position #)
  --not-registered      revoke ID KEY N: you have checked that the identity provider does not have the credential
  keys                  list the credentials on security keys, also of requests that the clean-up has deleted
  offboard              of a person who leaves: cancel open requests and revoke active credentials; --user or --email
  --dry-run             order, offboard: only check, or show what would be done
  --parallel N          order: calls at a time, 1 to 32; 4 by default
  --reference TEXT      find: customer_reference of the order, such as a ticket number
  --user USER           find, keys, offboard: a credential for this user, by the whole name
  --idp IDP             offboard: only credentials at this identity provider
  --email ADDRESS       find, offboard: email address of the recipient
  --external-id ID      find: the recipient's identifier
  --serial NUMBER       find, keys: serial number of a security key
  --state STATE         find: received, started, complete, partial, failed or cancelled; keys: processing,
                        activation_pending, active, failed, cancelled, revoking, revoked or revoke_failed
  --since TIME          find: created after this time, such as 2031-01-31
${pageHelp}
  --url URL             address of the connector, such as https://connector.example.com
  --csv                 keys: print CSV, for a spreadsheet
  --json                print what the API answers, for programs
${operatorHelp}

API_TOKEN is a static API token of the connector; without it the command asks for one.
${exitHelp} Of order: 0 if every line is ordered, 1 if some are not, 2 if nothing was tried, 3 if
it stopped before the end, 130 if it was interrupted; of offboard: 1 while something is left, 3 if
no credential was ordered for the person.`,
  options: {
    ...pageOptions,
    csv: { type: "boolean" },
    "dry-run": { type: "boolean" },
    "not-registered": { type: "boolean" },
    parallel: text,
    idp: text,
    reference: text,
    user: text,
    email: text,
    "external-id": text,
    serial: text,
    state: text,
    since: text,
  },
  actions: {
    order: [1, 1, "dry-run", "parallel"],
    find: [0, 0, ...pages, "reference", "user", "email", "external-id", "serial", "state", "since"],
    show: [1, 1],
    events: [1, 1],
    "resend-pin": [1, 1],
    cancel: [1, 1],
    revoke: [1, 3, "not-registered"],
    keys: [0, 0, ...pages, "user", "serial", "state", "csv"],
    offboard: [0, 0, "user", "idp", "email", "dry-run"],
  },
  fields: {
    customer_reference: "reference",
    user_id: "user",
    idp_id: "idp",
    email: "email",
    external_id: "external-id",
    serial_number: "serial",
    state: "state",
    created_after: "since",
  },
} as const;

// Paths are relative to the directory in which npm was called; npm runs scripts in the package's directory.
if (process.env.npm_lifecycle_event === "requests") process.chdir(process.env.INIT_CWD ?? ".");

/** A create can take 150 seconds (C6). */
const orderTimeoutMs = 180_000;

await runOperatorCommand(command, async ({ action, argument, args, values, connect }) => {
  const connector = connect<paths>(action === "order" ? { timeoutMs: orderTimeoutMs } : {});
  const params = { path: { credential_request_id: argument } };
  switch (action) {
    case "order": {
      process.exitCode = await orderFile({
        file: argument,
        dryRun: values["dry-run"] ?? false,
        url: values.url,
        api: connector,
        parallel: wholeNumber("--parallel", values.parallel ?? "4", 1, 32),
        stdout: process.stdout,
        stderr: process.stderr,
        now: () => performance.now(),
      });
      return;
    }
    case "find": {
      const filters = omitUndefined({
        customer_reference: values.reference,
        user_id: values.user,
        email: values.email,
        external_id: values["external-id"],
        serial_number: values.serial,
        // The API names the states if this is none.
        state: values.state as CredentialRequest["state"] | undefined,
        created_after: values.since,
      });
      const found = await readPages(values, page =>
        pageOf(connector.GET("/v2/credential-requests", { params: { query: { ...filters, ...page } } })),
      );
      if (values.json) return printJson(found);
      return printTable(
        ["ID", "STATE", "CREATED", "REFERENCE", "USERS"],
        found.map(each => [
          each.credential_request_id,
          each.state,
          each.created_at,
          each.shipment?.customer_reference,
          usersOf(each).join(" "),
        ]),
      );
    }
    case "show": {
      const { data } = await dataOf(connector.GET("/v2/credential-requests/{credential_request_id}", { params }));
      return values.json ? printJson(data) : printRequest(data);
    }
    case "events": {
      const answer = await dataOf(connector.GET("/v2/credential-requests/{credential_request_id}/events", { params }));
      return values.json ? printJson(answer) : printEvents(answer);
    }
    case "resend-pin": {
      const { data } = await dataOf(
        connector.POST("/v2/credential-requests/{credential_request_id}/resend-pin", { params }),
      );
      if (values.json) return printJson(data);
      console.error(`PIN emails sent: ${data.sent}.`);
      for (const key of data.unsent) console.error(`PIN email of key ${key.key_id}: ${key.error_message}`);
      return;
    }
    case "cancel": {
      const { data } = await dataOf(
        connector.POST("/v2/credential-requests/{credential_request_id}/cancel", { params }),
      );
      return values.json ? printJson(data) : printRequest(data);
    }
    case "revoke": {
      const data = await revoke(connector, args, {
        command: name,
        isNotRegistered: values["not-registered"] ?? false,
      });
      return values.json ? printJson(data) : printRequest(data);
    }
    case "keys":
      return listKeys(connector, values);
    case "offboard":
      return offboard(connector, name, values);
  }
});
