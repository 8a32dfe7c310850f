import { type HttpAnswer, type HttpCall, type Peer, startPeer } from "../../local/peers/peer.ts";
import { atEndOfFile } from "../support/run/end-of-file.ts";

/** A proxy of a Core API that counts calls, with configurable failures. */
export interface CoreProxy extends Peer {
  /** Answers in Core's place, where it gives an answer. */
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

async function passOn({ method, url, headers, body }: HttpCall, coreUrl: string): Promise<HttpAnswer> {
  const { authorization = "", "content-type": type } = headers;
  const response = await fetch(coreUrl.replace(/\/core$/, "") + url.pathname + url.search, {
    method,
    headers: { authorization, ...(type !== undefined && { "content-type": type }) },
    ...(body.length > 0 && { body: new Uint8Array(body) }),
  });
  const answered = { "content-type": response.headers.get("content-type") ?? "" };
  return { status: response.status, headers: answered, body: await response.text() };
}
