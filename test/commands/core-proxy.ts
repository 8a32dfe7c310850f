import { type HttpAnswer, type HttpCall, type Peer, startPeer } from "../../local/peers/peer.ts";
import { atEndOfFile } from "../support/run/end-of-file.ts";

/** A proxy of a Core API or a connector that counts calls, with configurable failures. */
export interface CoreProxy extends Peer {
  /** Answers in the API's place, where it gives an answer. */
  instead(answer: (call: HttpCall) => HttpAnswer | undefined): void;
}

/** Starts one, which ends with the test file. */
export async function startCoreProxy(coreUrl: string): Promise<CoreProxy> {
  let inPlace: (call: HttpCall) => HttpAnswer | undefined = () => undefined;
  const handle = async (call: HttpCall): Promise<HttpAnswer> => inPlace(call) ?? (await passOn(call, coreUrl));
  const peer = await startPeer("core proxy", { handle });
  atEndOfFile(() => peer.close());
  return {
    ...peer,
    instead: answer => {
      inPlace = answer;
    },
  };
}

const passedHeaders = ["authorization", "content-type", "idempotency-key"];
const answeredHeaders = ["content-type", "retry-after", "idempotent-replayed"];

async function passOn({ method, url, headers, body }: HttpCall, coreUrl: string): Promise<HttpAnswer> {
  const response = await fetch(coreUrl.replace(/\/core$/, "") + url.pathname + url.search, {
    method,
    headers: passedHeaders.flatMap(name => (headers[name] === undefined ? [] : [[name, String(headers[name])]])) as [
      string,
      string,
    ][],
    ...(body.length > 0 && { body: new Uint8Array(body) }),
  });
  const answered = answeredHeaders.flatMap(name => [[name, response.headers.get(name)]]).filter(([, text]) => text);
  return { status: response.status, headers: Object.fromEntries(answered), body: await response.text() };
}
