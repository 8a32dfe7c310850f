import { connect } from "node:net";

/** A response as it came over the connection. */
export interface WholeAnswer {
  /** 0 if the connection was closed without a response. */
  readonly status: number;
  /** By lower-case name, without the date. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Parsed if it is JSON. */
  readonly body: unknown;
  /** Names of the functions that have run. */
  readonly ran: readonly string[];
}

/** Only a connection that neither answers nor closes reaches it. */
const silenceMs = 20_000;

/** Sends a request as it stands, in Latin-1. */
export const send = async (host: { readonly port: number }, sent: string): Promise<Omit<WholeAnswer, "ran">> =>
  readAnswer(await exchange(host.port, sent));

/** Sends a request to a host of the table. Returns the response, and which functions have run. */
export async function answerOf(
  host: { readonly url: string; readonly port: number },
  sent: string,
): Promise<WholeAnswer> {
  const answer = await send(host, sent);
  const ran = await fetch(`${host.url}/ran`);
  return { ...answer, ran: (await ran.json()) as readonly string[] };
}

function exchange(port: number, sent: string): Promise<string> {
  return new Promise(resolve => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1");
    const end = () => {
      socket.destroy();
      resolve(Buffer.concat(chunks).toString("latin1"));
    };
    socket.setTimeout(silenceMs, end);
    socket.on("data", chunk => chunks.push(chunk));
    socket.on("end", end);
    // A host that refuses a request may reset the connection after its response.
    socket.on("error", end);
    socket.write(sent, "latin1");
  });
}

function readAnswer(text: string): Omit<WholeAnswer, "ran"> {
  const end = text.indexOf("\r\n\r\n");
  const [first = "", ...lines] = text.slice(0, Math.max(end, 0)).split("\r\n");
  const headers: Record<string, string[]> = {};
  for (const line of lines) {
    const [name = "", ...value] = line.split(":");
    const key = name.trim().toLowerCase();
    headers[key] = [...(headers[key] ?? []), value.join(":").trim()];
  }
  delete headers.date;
  const raw = text.slice(end + 4);
  const body = headers["transfer-encoding"]?.[0] === "chunked" ? unchunked(raw) : raw;
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0);
  return { status, headers, body: status === 0 ? text : parsed(Buffer.from(body, "latin1").toString("utf8")) };
}

function unchunked(text: string): string {
  const end = text.indexOf("\r\n");
  const size = Number.parseInt(text.slice(0, end), 16);
  return size > 0 ? text.slice(end + 2, end + 2 + size) + unchunked(text.slice(end + 2 + size + 2)) : "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
