import * as z from "zod";
import { authTasks } from "../../../functions/auth/start/maintenance-tasks.ts";
import { connectorTasks } from "../../../functions/connector/start/maintenance-tasks.ts";
import { functionName } from "../../../functions/register.ts";
import { type Task, taskTemplate } from "../../../lib/platform/http/task.ts";
import { assemble } from "./document.ts";
import { maintenanceExamples } from "./examples/maintenance.ts";
import { requestIdParameter } from "./headers.ts";
import { content, everyAnswer, type WrittenOperation } from "./operation.ts";
import { createSchemaWriter, type Json, ref } from "./schemas.ts";
import { masterKey } from "./security.ts";
import { maintenanceText } from "./texts.ts";

const problem = z
  .object({ path: z.string().describe("The field."), reason: z.string().describe("What is wrong with it.") })
  .meta({ id: "Problem" });
const errorBody = z
  .object({
    error: z.string().describe("What is wrong, for people."),
    fields: z.array(problem).optional().describe("Only with 400: every field that is wrong."),
  })
  .meta({ id: "ErrorResponse" });
const healthy = z.object({ status: z.literal("ok").describe("Every part works.") });
const unhealthy = z.object({ status: z.literal("unavailable").describe("A part does not work.") });

const services = [
  { service: "auth", tag: "Authentication server", tasks: authTasks },
  { service: "connector", tag: "Connector", tasks: connectorTasks },
] as const;

const retryAfter = { "retry-after": ref("headers", "retryAfter") };

/** Returns the OpenAPI document of the health check and the maintenance tasks. */
export function maintenanceDocument(): Json {
  const schemas = createSchemaWriter();
  const error = schemas.write(errorBody, "output");
  const health: WrittenOperation = {
    path: "/health",
    method: "get",
    operation: {
      operationId: "health",
      tags: ["Health"],
      summary: "Check the health",
      description:
        "Responds 200 if storage, the key vault and the settings work. A success is remembered for a few seconds. The response says nothing about the cause of a failure; the log does. `HEAD` responds the same without a body.",
      security: [],
      parameters: [ref("parameters", "requestId")],
      responses: {
        200: {
          description: "The deployment works.",
          headers: everyAnswer,
          content: content(["application/json"], schemas.write(healthy, "output"), maintenanceExamples.health?.answer),
        },
        503: {
          description: "A part does not work.",
          headers: { ...everyAnswer, ...retryAfter },
          content: content(["application/json"], schemas.write(unhealthy, "output"), { status: "unavailable" }),
        },
        "4XX": ref("responses", "Refused"),
      },
    },
  };
  const tasks = services.flatMap(({ service, tag, tasks }) =>
    Object.entries<Task<never>>(tasks).map(([name, task]): WrittenOperation => {
      const id = functionName(service, name);
      const example = maintenanceExamples[id];
      if (example === undefined) throw new Error(`${id} needs an example.`);
      const report = z.object({ data: task.report });
      return {
        path: `/${taskTemplate(service, name)}`,
        method: "post",
        operation: {
          operationId: id,
          tags: [tag],
          summary: task.summary,
          description: task.description,
          security: [{ masterKey: [] }],
          parameters: [ref("parameters", "requestId")],
          requestBody: {
            required: false,
            content: content(["application/json"], schemas.write(task.input, "input"), example.body),
          },
          responses: {
            200: {
              description: "The report.",
              headers: everyAnswer,
              content: content(["application/json"], schemas.write(report, "output"), example.answer),
            },
            401: { description: "No master key. The Functions host responds, without a body." },
            "4XX": ref("responses", "Refused"),
            500: ref("responses", "Failed"),
            503: ref("responses", "Unavailable"),
          },
        },
      };
    }),
  );
  const refusal = (description: string, message: string, headers: Json = {}) => ({
    description,
    headers: { ...everyAnswer, ...headers },
    content: content(["application/json"], error, { error: message }),
  });
  return assemble({ title: "Health and maintenance", text: maintenanceText }, [health, ...tasks], {
    schemas: schemas.components,
    responses: {
      Refused: refusal("The input is not valid, or the current state does not allow it.", "The input is not valid."),
      Failed: refusal("A failure of the service. The log has the cause.", "Internal error."),
      Unavailable: refusal("A service that this one needs is not responding.", "Try again later.", retryAfter),
    },
    parameters: { requestId: requestIdParameter },
    securitySchemes: { masterKey },
  });
}
