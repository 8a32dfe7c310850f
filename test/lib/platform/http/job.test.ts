import { expect, it } from "vitest";
import { runJob } from "../../../../lib/platform/http/job.ts";
import { createLog } from "../../../../lib/platform/log.ts";

const lines: string[] = [];
const log = createLog((level, line) => lines.push(`${level} ${line}`));
const events = () => lines.splice(0).map(line => [line.split(" ")[0], JSON.parse(line.slice(line.indexOf("{")))]);

it("returns the report of a job, and logs it", async () => {
  expect(await runJob("sweep", "timer", log, async () => ({ deleted: 2 }))).toEqual({ deleted: 2 });
  expect(events()).toEqual([["info", { event: "job", job: "sweep", trigger: "timer", deleted: 2 }]]);
});

it("logs the error of a job that fails, and throws it", async () => {
  const failing = runJob("sweep", "call", log, () => Promise.reject(new Error("storage is away")));
  await expect(failing).rejects.toThrow("storage is away");
  const error = expect.objectContaining({ message: "storage is away" });
  expect(events()).toEqual([["error", { event: "job_failed", job: "sweep", trigger: "call", error }]]);
});
