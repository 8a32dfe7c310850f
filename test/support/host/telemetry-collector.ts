import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import * as z from "zod";

const attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .optional()
  .transform((all = []) => Object.fromEntries(all.map(({ key, value }) => [key, Object.values(value)[0]])));

const span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes,
  status: z.object({ code: z.number().optional() }),
});
const point = z.object({
  attributes,
  count: z.union([z.number(), z.string()]).transform(Number),
  sum: z.number(),
  max: z.number(),
});
const metric = z.object({ name: z.string(), unit: z.string(), histogram: z.object({ dataPoints: z.array(point) }) });
const logRecord = z.object({
  timeUnixNano: z.string(),
  severityNumber: z.number(),
  body: z.object({ stringValue: z.string() }),
  attributes,
  traceId: z.string().optional(),
  spanId: z.string().optional(),
});
const body = z.object({
  resourceSpans: z.array(z.object({ scopeSpans: z.array(z.object({ spans: z.array(span) })) })).optional(),
  resourceMetrics: z.array(z.object({ scopeMetrics: z.array(z.object({ metrics: z.array(metric) })) })).optional(),
  resourceLogs: z.array(z.object({ scopeLogs: z.array(z.object({ logRecords: z.array(logRecord) })) })).optional(),
});

export type SeenSpan = z.output<typeof span>;
export type SeenMetric = z.output<typeof metric>;
export type SeenLog = z.output<typeof logRecord>;

/** Takes what is sent to an OTLP endpoint, and to Application Insights, and keeps it all. */
export interface Collector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`; below `/refusing` everything is answered 400. */
  readonly url: string;
  /** For `APPLICATIONINSIGHTS_CONNECTION_STRING`. */
  readonly connectionString: string;
  /** Every byte that came, headers too, unpacked. */
  readonly received: readonly { readonly path: string; readonly text: string }[];
  spans(): readonly SeenSpan[];
  metrics(): readonly SeenMetric[];
  logs(): readonly SeenLog[];
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const received: { path: string; text: string }[] = [];
  const server = createServer(async (request, response) => {
    const bytes = await buffer(request);
    const packed = request.headers["content-encoding"] === "gzip";
    const text = (packed ? gunzipSync(bytes) : bytes).toString("utf8");
    received.push({ path: request.url ?? "", text: `${JSON.stringify(request.headers)}\n${text}` });
    const items = request.url?.startsWith("/v2") ? text.split('"baseType"').length - 1 : 0;
    response.setHeader("content-type", "application/json");
    if (request.url?.startsWith("/refusing/")) response.writeHead(400).end('{"message":"words of the collector"}');
    else response.end(JSON.stringify(items === 0 ? {} : { itemsReceived: items, itemsAccepted: items, errors: [] }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bodies = () =>
    received
      .filter(({ path }) => path.startsWith("/v1/"))
      .map(({ text }) => body.parse(JSON.parse(text.slice(text.indexOf("\n")))));
  return {
    url,
    connectionString: `InstrumentationKey=00000000-0000-4000-8000-000000000000;IngestionEndpoint=${url}`,
    received,
    spans: () =>
      bodies().flatMap(({ resourceSpans = [] }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
    metrics: () =>
      bodies().flatMap(({ resourceMetrics = [] }) =>
        resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics)),
      ),
    logs: () =>
      bodies().flatMap(({ resourceLogs = [] }) =>
        resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords)),
      ),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
