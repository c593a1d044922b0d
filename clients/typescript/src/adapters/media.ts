/** Images and files of the AI SDK as sources of native blocks, and the other way round. */

import type { FilePart } from "ai";
import type { NativeBlock } from "../api.js";
import { base64 } from "./base64.js";

export type Source = NonNullable<NativeBlock["source"]>;

/** Whatever holds an image or a file: its bytes, a link, either with a tag, or ids by the provider that gave them. */
export type Data = string | object;

/** A block of an image or of any other file. */
export function mediaBlock(data: Data, mediaType: string | undefined, filename?: string): NativeBlock {
  return { type: mediaType?.startsWith("image") ? "image" : "document", source: sourceOf(data, mediaType, filename) };
}

/** Where a file is, or its bytes. */
export function sourceOf(data: Data, mediaType: string | undefined, filename?: string): Source {
  return { ...(mediaType && { media_type: mediaType }), ...placeOf(data), ...(filename && { filename }) };
}

/** A file of a native block; none where the block has only an id that another provider gave. */
export function filePartOf({ type, source }: NativeBlock): FilePart[] {
  const data = source && dataOf(source);
  const mediaType = source?.media_type ?? (type === "image" ? "image/*" : "application/octet-stream");
  return data === undefined
    ? []
    : [{ type: "file", data, mediaType, ...(source?.filename && { filename: source.filename }) }];
}

function placeOf(data: Data): Source {
  if (typeof data === "string") return /^(https?|data):/.test(data) ? { url: data } : { data };
  if (data instanceof URL) return { url: data.href };
  if (data instanceof ArrayBuffer) return { data: base64(new Uint8Array(data)) };
  if (data instanceof Uint8Array) return { data: base64(data) };
  const { type, ...places } = data as { type?: string } & Record<string, Data>;
  if (type === "text") return { text: String(places["text"]) };
  if (type !== undefined) return placeOf(places[type] ?? {});
  return { file_id: String(Object.values(data)[0] ?? ""), reference: data };
}

function dataOf({ url, data, text }: Source): string | Uint8Array | URL | undefined {
  if (url !== undefined) return URL.canParse(url) ? new URL(url) : undefined;
  return data ?? (text === undefined ? undefined : new TextEncoder().encode(text));
}
