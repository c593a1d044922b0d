import type {
  ChapterList,
  ChaptersWritten,
  ChapterTaskView,
  EntryView,
  ToolCallDetail,
  ToolCallRow,
  UserMessageDetail,
  VfsFolder,
  WriteChapters,
} from "./api.js";
import type { Calls } from "./calls.js";
import type { List, PageParams } from "./pages.js";
import { type Params, path, segment } from "./params.js";
import type { RequestOptions } from "./transport.js";

export interface ListEntries extends PageParams {
  /** The path from the root to this entry, in place of the session's leaf. */
  leafId?: string | undefined;
  /** Every branch. */
  all?: boolean | undefined;
}

/** What sessions hold. */
export class Entries {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Entries in order. */
  list(sessionId: string, params: ListEntries = {}, options?: RequestOptions): List<EntryView> {
    return this.#calls.list(path`/v1/sessions/${sessionId}/entries`, params, options);
  }

  /** One entry, whole, compacted or not. */
  get(sessionId: string, entryId: string, options?: RequestOptions): Promise<EntryView> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/entries/${entryId}`, {}, options);
  }

  /** Names an entry; null takes the name away. */
  setLabel(sessionId: string, entryId: string, label: string | null, options?: RequestOptions): Promise<EntryView> {
    return this.#calls.put(path`/v1/sessions/${sessionId}/entries/${entryId}/label`, { label }, options);
  }
}

/** Every call of a tool, compacted or not. */
export class ToolCalls {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  list(sessionId: string, params: PageParams = {}, options?: RequestOptions): List<ToolCallRow> {
    return this.#calls.list(path`/v1/sessions/${sessionId}/tool-calls`, params, options);
  }

  /** A call and its whole original result, by its id or by its number in the record (`#47`). */
  get(sessionId: string, toolCallId: string, options?: RequestOptions): Promise<ToolCallDetail> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/tool-calls/${toolCallId}`, {}, options);
  }

  /** A message of the user's own, by its number in the record: 12 for `u12`. */
  userMessage(sessionId: string, number: number, options?: RequestOptions): Promise<UserMessageDetail> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/tool-calls/${`u${number}`}`, {}, options);
  }
}

/** Closed tasks, as chapters and as files. */
export class Chapters {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** All chapters, nested ones under their parent. */
  list(sessionId: string, options?: RequestOptions): Promise<ChapterList> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/chapters`, {}, options);
  }

  /** Closes ranges of tasks; what was refused is said with its reason. */
  write(sessionId: string, params: Params<WriteChapters>, options?: RequestOptions): Promise<ChaptersWritten> {
    return this.#calls.post(path`/v1/sessions/${sessionId}/chapters`, params, options);
  }

  /** What to hand the agent when `snapshot.chapter_task.pending`. */
  task(sessionId: string, options?: RequestOptions): Promise<ChapterTaskView> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/chapter-task`, {}, options);
  }

  /** The root of the folder view. */
  folder(sessionId: string, options?: RequestOptions): Promise<VfsFolder> {
    return this.#calls.get(path`/v1/sessions/${sessionId}/vfs/`, {}, options);
  }

  /** A folder of the chapters, or a file as Markdown. */
  read(sessionId: string, filePath: string, options?: RequestOptions): Promise<VfsFolder | string> {
    const below = filePath
      .replace(/^\/|\/$/g, "")
      .split("/")
      .map(segment)
      .join("/");
    return this.#calls.read(path`/v1/sessions/${sessionId}/vfs/` + below, "application/json, text/markdown", options);
  }
}
