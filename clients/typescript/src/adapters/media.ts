/** Images and files of the AI SDK as sources of native blocks, and the other way round. */

import type { FilePart } from "ai";
import type { NativeBlock } from "../api.js";

export type Source = NonNullable<NativeBlock["source"]>;

/** Whatever holds an image or a file: its bytes, a link, either with a tag, or ids by the provider that gave them. */
export type Data = string | Uint8Array | ArrayBuffer | URL | { readonly [name: string]: unknown };

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
  return data === undefined ? [] : [{ type: "file", data, mediaType, ...(source?.filename && { filename: source.filename }) }];
}

function placeOf(data: Data): Source {
  if (typeof data === "string") return /^(https?|data):/.test(data) ? { url: data } : { data };
  if (data instanceof URL) return { url: data.href };
  if (data instanceof Uint8Array || data instanceof ArrayBuffer) return { data: base64(data) };
  const { type } = data;
  if (type === "text") return { text: String(data["text"]) };
  if (type === "data" || type === "url" || type === "reference") return placeOf(data[type] as Data);
  return { file_id: String(Object.values(data)[0]), reference: data };
}

function dataOf({ url, data, text }: Source): string | Uint8Array | URL | undefined {
  if (url !== undefined) return URL.canParse(url) ? new URL(url) : undefined;
  return data ?? (text === undefined ? undefined : new TextEncoder().encode(text));
}

function base64(data: Uint8Array | ArrayBuffer): string {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += 0x8000) {
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  }
  return btoa(pieces.join(""));
}
