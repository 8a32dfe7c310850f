import { BatchLogRecordProcessor, type LogRecordExporter, type LogRecordProcessor } from "@opentelemetry/sdk-logs";

/** Maximum number of log events that wait to be sent to one destination. Events have about 1 KB. */
const maxQueued = 10_000;

/**
 * Returns a processor that sends log events in batches, and reports that it drops events because its queue is full.
 * OpenTelemetry's own queue holds 2,048 events. A flood of calls fills it, and it then drops further ones without a
 * report, audit events included.
 * @param lost called with the reason for each dropped event
 */
export function queueLogs(exporter: LogRecordExporter, lost: (reason: string) => void): LogRecordProcessor {
  let queued = 0;
  const batches = new BatchLogRecordProcessor({
    maxQueueSize: maxQueued,
    exporter: {
      export: (records, done) => {
        queued -= records.length;
        exporter.export(records, done);
      },
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    },
  });
  return {
    onEmit: record => {
      if (queued >= maxQueued) return lost("more log events than can be sent");
      queued++;
      batches.onEmit(record);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}
