import type {
  ChapterRequestedEvent,
  CompactionEvent,
  CompactionUpdateEvent,
  ReadyEvent,
  ResetEvent,
  SnapshotEvent,
  UsageUpdateEvent,
} from "./api.js";
import { APIConnectionError } from "./errors.js";
import { parseJSON } from "./json.js";
import { Tries } from "./retry.js";
import type { RequestOptions } from "./transport.js";

interface EventData {
  snapshot: SnapshotEvent;
  "compaction.queued": CompactionEvent;
  "compaction.started": CompactionEvent;
  "compaction.succeeded": CompactionEvent;
  "compaction.failed": CompactionEvent;
  "compaction.skipped": CompactionEvent;
  "compaction.cancelled": CompactionEvent;
  "chapter.requested": ChapterRequestedEvent;
  reset: ResetEvent;
  ready: ReadyEvent;
  usage_update: UsageUpdateEvent;
  compaction_update: CompactionUpdateEvent;
}

/** An event of a session or of a tenant; `type` says what `data` is. A newer service may have types that are not here. */
export type StreamEvent = {
  [Type in keyof EventData]: { type: Type; id: string | undefined; data: EventData[Type] };
}[keyof EventData];

export interface EventsOptions extends Pick<RequestOptions, "signal"> {
  /** The stream begins behind this event; 0: with the first that is kept. Without it, it begins now. */
  lastEventId?: string | number | undefined;
  /** Whose names events have; `acp`: the Agent Client Protocol's, where it has any. */
  names?: "contextd" | "acp" | undefined;
  /** How often in a row a connection is made anew with no event coming of it; 20, which is some two minutes. */
  maxRetries?: number | undefined;
}

/** Opens the stream behind an event and gives its lines. */
type Open = (lastEventId: string | undefined) => AsyncIterable<string>;

const MAX_RETRIES = 20;

/**
 * Server-sent events, nothing twice and nothing left out: after a break, and when the service ends the stream, it is
 * taken up again behind the last event. Ends by `break`, by the signal, or by an error that does not pass.
 */
export class EventStream implements AsyncIterable<StreamEvent> {
  readonly #open: Open;
  readonly #signal: AbortSignal | undefined;
  readonly #maxRetries: number;
  #lastEventId: string | undefined;

  constructor(open: Open, options: EventsOptions) {
    this.#open = open;
    this.#signal = options.signal;
    this.#maxRetries = options.maxRetries ?? MAX_RETRIES;
    this.#lastEventId = options.lastEventId === undefined ? undefined : String(options.lastEventId);
  }

  /** Behind which a later stream goes on. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void, undefined> {
    const tries = new Tries(this.#maxRetries);
    for (;;) {
      try {
        for await (const event of eventsOf(this.#open(this.#lastEventId))) {
          this.#lastEventId = event.id ?? this.#lastEventId;
          tries.succeeded();
          yield event;
        }
        throw new APIConnectionError("the stream has ended");
      } catch (error) {
        await tries.pause(error, this.#signal);
      }
    }
  }
}

/** Events in the lines of a stream. What no blank line ends is no event. */
export async function* eventsOf(lines: AsyncIterable<string>): AsyncGenerator<StreamEvent, void, undefined> {
  let fields: Partial<Record<string, string>> = {};
  for await (const line of lines) {
    if (line !== "") {
      const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      fields[name] = name === "data" && fields["data"] !== undefined ? `${fields["data"]}\n${value}` : value;
      continue;
    }
    if (fields["data"] !== undefined) yield eventOf(fields["event"] ?? "message", fields["id"], fields["data"]);
    fields = {};
  }
}

function eventOf(type: string, id: string | undefined, data: string): StreamEvent {
  return { type, id, data: parseJSON(data, "the data of an event") } as StreamEvent;
}
