import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { cloudEventOf } from "../../../lib/connector/events/cloud-event.ts";
import { type EventType, eventTypes } from "../../../lib/connector/model/states.ts";
import { version } from "../../../lib/platform/settings/deployment-settings.ts";
import { type Json, ref, tidy } from "../openapi/schemas.ts";
import { shareRepeated } from "../openapi/share.ts";
import { cloudEventSchemas } from "./cloud-event-schemas.ts";
import { eventExamples } from "./examples.ts";
import { eventHeaders } from "./headers.ts";
import { description, security } from "./texts.ts";

/** Returns the AsyncAPI document of the events by its file. */
export const asyncapiFiles = (): Readonly<Record<string, object>> => ({
  "docs/asyncapi.json": shareRepeated(asyncapiDocument()),
});

function asyncapiDocument(): Json {
  const to = (path: string) => ({ $ref: `#/${path}` });
  const { shared, of } = payloads();
  return {
    asyncapi: "3.1.0",
    info: {
      title: "Events of credential requests",
      version,
      description,
      contact: { name: "The operator of the deployment" },
      license: { name: "Proprietary" },
      tags: [{ name: "Credential requests", description: "Orders of keys, and the credentials on them." }],
    },
    defaultContentType: "application/cloudevents+json",
    servers: {
      sink: {
        host: "{host}",
        pathname: "/{path}",
        protocol: "https",
        description: "A receiver of events: one URL of the setting `EVENT_SINK_URLS`.",
        variables: {
          host: { description: "Host and port of the receiver.", examples: ["itsm.example.com"] },
          path: { description: "Path of the receiver.", examples: ["hooks/keys"] },
        },
        security: [ref("securitySchemes", "signature")],
      },
    },
    channels: {
      events: {
        title: "Events",
        description: "All events of all requests. A receiver gets each of them, in order within a request.",
        servers: [to("servers/sink")],
        messages: Object.fromEntries(eventTypes.map(type => [type, messageOf(type, of(type))])),
      },
    },
    operations: {
      sendEvent: {
        action: "send",
        title: "Send an event",
        summary: "Reports a change of a request to a receiver.",
        description:
          "One POST for each event. A status of 2xx acknowledges it. The body of the response is not read, and redirects are not followed. Any other response, or none in time, repeats the delivery later.",
        channel: to("channels/events"),
        bindings: { http: { method: "POST", bindingVersion: "0.3.0" } },
      },
    },
    components: {
      schemas: { Headers: schemaOf(eventHeaders), ...shared },
      securitySchemes: { signature: security },
    },
  };
}

function messageOf(type: EventType, payload: Json): Json {
  const { shape } = cloudEventSchemas[type];
  return {
    name: shape.type.value,
    summary: shape.data.description,
    headers: ref("schemas", "Headers"),
    payload,
    examples: [{ payload: cloudEventOf(eventExamples[type]) }],
  };
}

/** Returns a schema as AsyncAPI has it: a superset of JSON Schema's draft 7. */
function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...written } = z.toJSONSchema(schema, { target: "draft-7", io: "output", override: tidy });
  return written;
}

/** The schema of an object. */
interface ObjectSchema extends Json {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
}

/** Returns the schemas of events by type, and what all of them have: of the event, and of its `data`. */
function payloads() {
  const events = eventTypes.map(type => schemaOf(cloudEventSchemas[type]) as ObjectSchema);
  const data = events.map(({ properties }) => properties.data as ObjectSchema);
  const [Event, EventData] = [sharedBy(events), sharedBy(data)];
  const extended = events.map((event, index) => {
    // The message has the description, as its summary.
    const { description: _, ...own } = extension(data[index] as ObjectSchema, EventData, "EventData");
    return extension({ ...event, properties: { ...event.properties, data: own } }, Event, "Event");
  });
  return { shared: { Event, EventData }, of: (type: EventType) => extended[eventTypes.indexOf(type)] as Json };
}

/** Returns the schema of what all objects have in common. */
function sharedBy(schemas: readonly ObjectSchema[]): ObjectSchema {
  const [first = { properties: {}, required: [] }] = schemas;
  const entries = Object.entries(first.properties).filter(([name, property]) =>
    schemas.every(({ properties }) => isDeepStrictEqual(properties[name], property)),
  );
  const required = first.required.filter(name => schemas.every(schema => schema.required.includes(name)));
  return { type: "object", properties: Object.fromEntries(entries), required };
}

/** Returns a schema as an extension of the component that has what it shares with others. */
function extension({ properties, required, ...rest }: ObjectSchema, base: ObjectSchema, component: string): Json {
  const own = Object.entries(properties).filter(([name]) => !Object.hasOwn(base.properties, name));
  const ownRequired = required.filter(name => !base.required.includes(name));
  return {
    ...rest,
    allOf: [ref("schemas", component)],
    properties: Object.fromEntries(own),
    ...(ownRequired.length > 0 && { required: ownRequired }),
  };
}
