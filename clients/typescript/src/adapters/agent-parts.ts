/** Contents of messages and outputs of tools: the Agents SDK's names and the Responses API's. */

import type { AgentInputItem } from "@openai/agents";
import type { ResponsesItem, ResponsesPart } from "../api.js";

type Output = Extract<AgentInputItem, { type: "function_call_result" }>["output"];
/** A part of either side: what it is decides its other members. */
type Part = { type: string } & Record<string, unknown>;

/** A part as the Responses API names it. */
export function responsesPart(part: object): ResponsesPart {
  const { type, text, image, file, filename, detail } = part as Part & { text?: string };
  switch (type) {
    case "input_text":
    case "output_text":
      return { type, text: text ?? "" };
    case "input_image":
      return { type, ...imagePlace(image), ...(detail !== undefined && { detail }) };
    case "input_file":
      return { type, ...filePlace(file), ...(filename !== undefined && { filename }) };
    default:
      return { ...(part as Part) };
  }
}

/** A part as the Agents SDK names it. */
export function agentPart(part: ResponsesPart): Part {
  const { type, text, image_url, file_id, file_url, file_data, filename, detail } = part;
  const named = { ...(filename !== undefined && { filename }), ...(detail !== undefined && { detail }) };
  switch (type) {
    case "input_text":
    case "output_text":
      return { type, text: text ?? "" };
    case "input_image":
      return { type, image: image_url ?? { id: file_id }, ...named };
    case "input_file":
      return {
        type,
        file: file_data ?? (file_url === undefined ? { id: file_id } : { url: file_url }),
        ...named,
      };
    default:
      return part as Part;
  }
}

/** The parts of a content, text being one. */
export function partsOf(content: unknown): ResponsesPart[] {
  if (typeof content === "string") return [{ type: "input_text", text: content }];
  return Array.isArray(content) ? (content as ResponsesPart[]) : [];
}

/** What a tool gave, as the Responses API has it. */
export function responsesOutput(output: Output): string | ResponsesPart[] {
  if (typeof output === "string") return output;
  if (Array.isArray(output)) return output.map(responsesPart);
  if (output.type === "text") return output.text;
  if (output.type === "image") return [{ type: "input_image", ...imagePlace(output.image) }];
  return [{ type: "input_file", ...filePlace(output.file) }];
}

/** What a tool gave, as the Agents SDK makes it. */
export function outputOf(output: ResponsesItem["output"]): Output {
  if (typeof output === "string") return { type: "text", text: output };
  return partsOf(output).map(agentPart) as Extract<Output, unknown[]>;
}

/** Where an image is: a link, bytes, or an id. */
function imagePlace(image: unknown): Record<string, unknown> {
  if (typeof image === "string") return { image_url: image };
  const { id, fileId, url, data, mediaType } = Object(image) as Record<string, unknown>;
  if (typeof data === "string") return { image_url: `data:${String(mediaType ?? "image/png")};base64,${data}` };
  return url === undefined ? { file_id: id ?? fileId } : { image_url: url };
}

function filePlace(file: unknown): Record<string, unknown> {
  if (typeof file === "string") return /^https?:/.test(file) ? { file_url: file } : { file_data: file };
  const { id, url, data } = Object(file) as Record<string, unknown>;
  if (typeof data === "string") return { file_data: data };
  return url === undefined ? { file_id: id } : { file_url: url };
}
