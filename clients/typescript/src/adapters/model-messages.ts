/** Messages of the AI SDK as native items, and the other way round. */

import type { AssistantContent, ModelMessage, ToolContent, ToolResultPart, UserContent } from "ai";
import type { NativeBlock, NativeMessage } from "../api.js";
import { type Data, filePartOf, mediaBlock, sourceOf } from "./media.js";

type Parts<Content> = Exclude<Content, string>;
type Part = Parts<ModelMessage["content"]>[number];
type Output = ToolResultPart["output"];
type OutputPart = Extract<Output, { type: "content" }>["value"][number];

/** A message as the item that is stored. */
export function itemOf({ role, content, providerOptions }: ModelMessage): NativeMessage {
  if (typeof content === "string") return withOptions({ role, content }, providerOptions);
  // A native tool message holds results alone: what else stands in one, the user's answer to a request, is the user's.
  const isUsers = role === "tool" && content.some(({ type }) => type !== "tool-result");
  return withOptions({ role: isUsers ? "user" : role, content: content.map(blockOf) }, providerOptions);
}

/** An item as messages: two where an item holds both results and speech. */
export function messagesOf({ role, content }: NativeMessage): ModelMessage[] {
  const blocks: NativeBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  if (role === "assistant") return [{ role, content: blocks.flatMap(assistantParts) }];
  if (role === "system" || role === "developer") return [{ role: "system", content: textOf(blocks) }];
  const results = blocks.flatMap(resultParts);
  const speech = blocks.flatMap(userParts);
  const messages: ModelMessage[] = [];
  if (results.length > 0) messages.push({ role: "tool", content: results });
  if (speech.length > 0) messages.push({ role: "user", content: speech });
  return messages;
}

function blockOf(part: Part): NativeBlock {
  switch (part.type) {
    case "text":
      return withOptions({ type: "text", text: part.text }, part.providerOptions);
    case "reasoning":
      return withOptions({ type: "thinking", text: part.text }, part.providerOptions);
    case "image":
      return withOptions(mediaBlock(part.image, part.mediaType ?? "image/*"), part.providerOptions);
    case "file":
      return withOptions(mediaBlock(part.data, part.mediaType, part.filename), part.providerOptions);
    case "reasoning-file":
      return { type: part.type, source: sourceOf(part.data, part.mediaType) };
    case "tool-call":
      return withOptions(callBlock(part), part.providerOptions);
    case "tool-result":
      return withOptions(resultBlock(part), part.providerOptions);
    default:
      // Requests for approval and what one provider alone understands: kept as it is.
      return { ...part };
  }
}

function callBlock(part: Extract<Part, { type: "tool-call" }>): NativeBlock {
  const kind = part.providerExecuted ? { kind: "server" } : {};
  return { type: "tool_call", id: part.toolCallId, name: part.toolName, arguments: part.input ?? {}, ...kind };
}

function resultBlock({ toolCallId, toolName, output }: ToolResultPart): NativeBlock {
  const isError = output.type.startsWith("error") || output.type === "execution-denied";
  const error = isError ? { is_error: true } : {};
  return { type: "tool_result", tool_call_id: toolCallId, name: toolName, content: outputBlocks(output), ...error };
}

function outputBlocks(output: Output): NativeBlock[] {
  switch (output.type) {
    case "content":
      return output.value.map(outputBlock);
    case "execution-denied":
      return [{ type: "text", text: output.reason ?? "The user did not allow this call." }];
    case "text":
    case "error-text":
      return [{ type: "text", text: output.value }];
    default:
      return [{ type: "text", text: JSON.stringify(output.value) }];
  }
}

function outputBlock(part: OutputPart): NativeBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  const file = part as { data?: Data; url?: string; mediaType?: string; filename?: string };
  const data = file.data ?? file.url;
  const mediaType = file.mediaType ?? (part.type.startsWith("image") ? "image/*" : undefined);
  return data === undefined ? { ...part } : mediaBlock(data, mediaType, file.filename);
}

function assistantParts(block: NativeBlock): Parts<AssistantContent> {
  switch (block.type) {
    case "thinking":
      return [{ type: "reasoning", text: block.text ?? "", ...optionsOf(block) }];
    case "tool_call": {
      const providerExecuted = block["kind"] === "server" ? { providerExecuted: true } : {};
      const call = { type: "tool-call", toolCallId: block.id ?? "", toolName: block.name ?? "" } as const;
      return [{ ...call, input: block.arguments, ...providerExecuted, ...optionsOf(block) }];
    }
    case "tool_result":
      return [resultPart(block)];
    case "custom":
    case "tool-approval-request":
      return [block as unknown as Parts<AssistantContent>[number]];
    default:
      return userParts(block);
  }
}

function userParts(block: NativeBlock): (Parts<UserContent>[number] & Parts<AssistantContent>[number])[] {
  if (block.type === "text") return block.text ? [{ type: "text", text: block.text, ...optionsOf(block) }] : [];
  return block.type === "image" || block.type === "document" ? filePartOf(block) : [];
}

function resultParts(block: NativeBlock): ToolContent {
  if (block.type === "tool_result") return [resultPart(block)];
  return block.type === "tool-approval-response" ? [block as unknown as ToolContent[number]] : [];
}

function resultPart(block: NativeBlock): ToolResultPart {
  const { tool_call_id: toolCallId = "", name: toolName = "", content, is_error } = block;
  const blocks = Array.isArray(content) ? (content as NativeBlock[]) : [{ type: "text", text: String(content ?? "") }];
  return {
    type: "tool-result",
    toolCallId,
    toolName,
    output: outputOf(blocks, is_error === true),
    ...optionsOf(block),
  };
}

function outputOf(blocks: NativeBlock[], isError: boolean): Output {
  const files = isError ? [] : blocks.flatMap(fileOutput);
  if (files.length === 0) return { type: isError ? "error-text" : "text", value: textOf(blocks) };
  return { type: "content", value: [{ type: "text", text: textOf(blocks) }, ...files] };
}

/** Files inside of results: bytes and links. */
function fileOutput({ type, source }: NativeBlock): OutputPart[] {
  const isImage = type === "image";
  if (source?.url !== undefined) return [{ type: isImage ? "image-url" : "file-url", url: source.url }];
  if (source?.data === undefined) return [];
  const mediaType = source.media_type ?? (isImage ? "image/png" : "application/octet-stream");
  return [{ type: isImage ? "image-data" : "file-data", data: source.data, mediaType }];
}

function textOf(blocks: NativeBlock[]): string {
  return blocks.flatMap(({ type, text }) => (type === "text" && text ? [text] : [])).join("\n");
}

type Options = ModelMessage["providerOptions"];

/** What a provider is told beside the content goes with it: the service keeps what it does not know. */
function withOptions<T extends object>(thing: T, options: Options): T {
  return options === undefined ? thing : { ...thing, provider_options: options };
}

function optionsOf(block: NativeBlock): { providerOptions?: NonNullable<Options> } {
  const options = block["provider_options"] as Options;
  return options === undefined ? {} : { providerOptions: options };
}
