import { Contextd, type ContextdOptions, type Fetch } from "contextd";

const url = process.env["CONTEXTD_TEST_URL"];

/** Options of a test that talks to a real service. */
export const needsService = { skip: url ? false : "CONTEXTD_BINARY names no contextd: see the script `test`" };

/** A client of the real service. */
export function client(options: ContextdOptions = {}): Contextd {
  return new Contextd({ baseURL: url, ...options });
}

/** A request as `fetch` was given it. */
export interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: unknown;
}

type Answer = Response | Error | ((init: RequestInit) => Promise<Response>);

/** A `fetch` that gives one answer after the other, the last one from then on, and keeps what it was asked. */
export function played(...answers: [Answer, ...Answer[]]): { fetch: Fetch; sent: Sent[] } {
  const sent: Sent[] = [];
  const fetch: Fetch = async (url, init) => {
    init.signal?.throwIfAborted();
    const { pathname, search } = new URL(url);
    const body = init.body ? (JSON.parse(String(init.body)) as unknown) : undefined;
    const headers = Object.fromEntries(new Headers(init.headers));
    sent.push({ method: init.method ?? "GET", path: pathname + search, headers, body });
    const answer = answers[Math.min(sent.length, answers.length) - 1] ?? answers[0];
    if (answer instanceof Error) throw answer;
    return answer instanceof Response ? answer.clone() : answer(init);
  };
  return { fetch, sent };
}

/** A client whose service is played. */
export function offline(fetch: Fetch, options: ContextdOptions = {}): Contextd {
  return new Contextd({ baseURL: "http://played.test", fetch, ...options });
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers });
}

export function problem(
  status: number,
  code: string,
  more: object = {},
  headers: Record<string, string> = {},
): Response {
  const body = { type: `urn:contextd:problem:${code}`, title: code, status, detail: "as played", code, ...more };
  return json(body, status, { "content-type": "application/problem+json", ...headers });
}

/** An answer that never comes: it fails when the request is given up. */
export function silence(init: RequestInit): Promise<Response> {
  return new Promise((_, reject) => {
    init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
  });
}

/** A stream of server-sent events that ends, or breaks with an error, after these pieces. */
export function stream(pieces: string[], error?: Error): Response {
  const texts = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(texts.encode(piece));
      if (error) setTimeout(() => controller.error(error));
      else controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
