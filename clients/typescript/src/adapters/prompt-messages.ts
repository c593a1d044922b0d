/** Messages of the AI SDK as a model's prompt has them: other than its users', by the version of a model's interface. */

import type { FilePart, ModelMessage, ToolResultPart } from "ai";

type Part = Exclude<ModelMessage["content"], string>[number];
type OutputPart = Extract<ToolResultPart["output"], { type: "content" }>["value"][number];

/** A message for a model of this version, `v2` to `v4`. */
export function promptMessage({ content, ...message }: ModelMessage, version: string): object {
  return {
    ...message,
    content: typeof content === "string" ? content : content.map((part) => promptPart(part, version)),
  };
}

function promptPart(part: Part, version: string): object {
  if (part.type === "file") return { ...part, data: fileData(part.data, version) };
  if (part.type !== "tool-result" || part.output.type !== "content") return part;
  return { ...part, output: { type: "content", value: part.output.value.map((some) => outputPart(some, version)) } };
}

/** Bytes and links are tagged since `v4`. */
function fileData(data: FilePart["data"], version: string): unknown {
  if (version !== "v4") return data;
  return data instanceof URL ? { type: "url", url: data } : { type: "data", data };
}

/** A part of a result; links in results are new in `v3`. */
function outputPart(part: OutputPart, version: string): object {
  const {
    data,
    url,
    mediaType = "application/octet-stream",
  } = part as { data?: string; url?: string; mediaType?: string };
  if (version === "v3" || (data === undefined && url === undefined)) return part;
  if (version === "v4") return { type: "file", data: fileData(data ?? new URL(String(url)), version), mediaType };
  return data === undefined ? { type: "text", text: String(url) } : { type: "media", data, mediaType };
}
