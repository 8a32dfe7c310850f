import { type IncomingMessage, Server } from "node:http";

type Emit = (this: Server, event: string, ...args: unknown[]) => boolean;

/**
 * Lets Azurite get JSON bodies as text. It decodes each chunk of a body on its own, so a character of several bytes that two
 * chunks share would be stored as other characters, and a text of the maximum length would be refused as too long. Call it
 * before Azurite starts.
 */
export function decodeJsonBodies(): void {
  const emit: Emit = Server.prototype.emit;
  const decoding: Emit = function (event, ...args) {
    const [request] = args as readonly IncomingMessage[];
    const isJson = request?.headers?.["content-type"]?.startsWith("application/json") === true;
    if (event === "request" && isJson) request.setEncoding("utf8");
    return emit.call(this, event, ...args);
  };
  Server.prototype.emit = decoding as Server["emit"];
}
