import * as z from "zod";
import { eventName, eventSource } from "../../../lib/connector/events/cloud-event.ts";
import { deliveryFailures, endStates } from "../../../lib/connector/events/event.ts";
import { type EventType, eventTypes, replacementReasons, revokeTimes } from "../../../lib/connector/model/states.ts";

const common = {
  credential_request_id: z.string().describe("The request."),
  shipment_id: z.string().optional().describe("The delivery service's id of its shipment. Absent if it has none."),
  customer_reference: z.string().optional().describe("The customer's own reference from the create."),
  external_id: z.string().optional().describe("The recipient's identifier, where the create named one."),
  tracking: z
    .object({
      number: z.string().optional().describe("Tracking number."),
      link: z.url().optional().describe("The carrier's page about the parcel."),
    })
    .optional()
    .describe("How the carrier names the parcel, once the delivery service has reported it."),
};
const ofKey = {
  ...common,
  key_id: z.string().describe("The key, as `id` in the read model."),
  serial_number: z.string().optional().describe("Serial number of the key, once it is known."),
};
const ofCredential = {
  ...ofKey,
  credential: z.int().min(1).describe("Position of the credential on its key, from 1."),
  idp_id: z.string().describe("The identity provider of the credential."),
};
const ofMail = {
  ...ofKey,
  mail: z
    .int()
    .min(1)
    .describe("Number of the PIN email of the key, from 1. It grows with a resend, and if an email was not delivered."),
};

const dataSchemas = {
  "request.started": z
    .object({
      ...common,
      state: z.literal("started"),
      replaces: z
        .object({
          credential_request_id: z.string().describe("The request of the replaced key."),
          key_id: z.string().describe("The replaced key."),
          reason: z.enum(replacementReasons).describe("Why it is replaced."),
          revoke: z.enum(revokeTimes).describe("When its active credentials are revoked."),
        })
        .optional()
        .describe("The key that the keys of the request replace."),
    })
    .describe("All orders of the request are placed."),
  "key.shipped": z.object(ofKey).describe("The delivery service reported the key as shipped."),
  "key.delivered": z
    .object({ ...ofKey, state: z.literal("delivered") })
    .describe("The delivery service reported the key as delivered."),
  "key.delivery_failed": z
    .object({
      ...ofKey,
      state: z.enum(deliveryFailures).describe("`exception`: the carrier could not deliver the parcel."),
    })
    .describe("The delivery service reported that the key was lost on its way, or could not be delivered."),
  "credential.active": z
    .object({ ...ofCredential, state: z.literal("active") })
    .describe("The identity provider accepted the credential."),
  "credential.failed": z
    .object({
      ...ofCredential,
      state: z.literal("failed"),
      may_be_registered: z
        .literal(true)
        .optional()
        .describe(
          "The identity provider may have registered the credential all the same, so the key may work: look there " +
            "before you replace it, and revoke the credential or state that it is not registered.",
        ),
    })
    .describe("The credential can no longer become active. The read model has the reason."),
  "credential.revoked": z.object(ofCredential).describe("The credential was removed at its identity provider."),
  "pin_mail.sent": z.object(ofMail).describe("The mail service sent the PIN email of the key."),
  "pin_mail.given_up": z
    .object({
      ...ofMail,
      error_code: z
        .string()
        .optional()
        .describe("The mail service's error code of the last attempt. Absent if it gave none."),
    })
    .describe(
      "The PIN email of the key was not sent in time, or all its addresses are suppressed at the mail service. It can " +
        "be sent again with resend-pin.",
    ),
  "request.ended": z
    .object({ ...common, state: z.enum(endStates).describe("The state of the request.") })
    .describe("Every credential of the request has ended. PIN emails and revocations may follow."),
} as const satisfies Record<EventType, z.ZodObject>;

/** The schema of an event on the wire: CloudEvents 1.0 in structured JSON. */
const envelope = <T extends EventType>(type: T) =>
  z.object({
    specversion: z.literal("1.0"),
    id: z.guid().describe("Id of the event. A repeated delivery has the same id."),
    source: z.literal(eventSource),
    type: z.literal(eventName(type)),
    subject: z.string().describe("The request."),
    time: z.iso.datetime().describe("When the connector recorded the event."),
    sequence: z
      .string()
      .regex(/^\d{6,}$/)
      .describe("Position of the event in its request, with leading zeros, so that positions compare as text."),
    datacontenttype: z.literal("application/json"),
    data: dataSchemas[type],
  });

/** The schema of each event on the wire, by its type without prefix. */
export const cloudEventSchemas = Object.fromEntries(eventTypes.map(type => [type, envelope(type)])) as unknown as {
  readonly [T in EventType]: ReturnType<typeof envelope<T>>;
};
