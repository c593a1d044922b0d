/** Items of the OpenAI Agents SDK as items of the Responses API, and the other way round. */

import type { AgentInputItem } from "@openai/agents";
import type { ResponsesItem, ResponsesPart } from "../api.js";
import { base64 } from "./base64.js";
import { agentPart, outputOf, partsOf, responsesOutput, responsesPart } from "./agent-parts.js";

type Typed<Type> = Extract<AgentInputItem, { type: Type }>;
type Said<Role> = Extract<AgentInputItem, { role: Role }>["content"];

/** An item as it is stored; beside it the item itself, where the Responses API can't say all of it. */
export function storedItem(added: AgentInputItem): ResponsesItem {
  const item = plain(added) as AgentInputItem;
  const said = responsesItem(item);
  return canonical(agentItem(said, "")) === canonical(item) ? said : { ...said, agents_item: item };
}

/** Items of a context. Those that are there as they were stored are the items that were added. */
export function agentItems(items: ResponsesItem[]): AgentInputItem[] {
  const calls = items.filter(({ type }) => type === "function_call");
  const names = new Map(calls.map(({ call_id, name }) => [call_id, name]));
  return items.map(({ agents_item, ...said }) => {
    const added = agents_item as AgentInputItem | undefined;
    const isWhole = added && canonical(responsesItem(added)) === canonical(said);
    return isWhole ? added : agentItem(said, names.get(said.call_id) ?? "");
  });
}

function responsesItem(item: AgentInputItem): ResponsesItem {
  if ("role" in item) {
    const { id, type, role, content, ...more } = item;
    const parts = typeof content === "string" ? content : content.map(responsesPart);
    const status = "status" in more ? { status: more.status } : {};
    return { ...(id && { id }), ...(type && { type }), role, content: parts, ...status };
  }
  switch (item.type) {
    case "function_call": {
      const { type, id, callId: call_id, name, arguments: input, status } = item;
      return { ...(id && { id }), type, call_id, name, arguments: input, ...(status && { status }) };
    }
    case "function_call_result": {
      const { id, callId: call_id, name, output, status } = item;
      const result = { type: "function_call_output", call_id, name, output: responsesOutput(output), status };
      return { ...(id && { id }), ...result };
    }
    case "reasoning": {
      const encrypted = item.providerData?.["encryptedContent"] ?? item.providerData?.["encrypted_content"];
      const summary = item.content.map(({ text }) => ({ type: "summary_text", text }));
      const sealed = typeof encrypted === "string" ? { encrypted_content: encrypted } : {};
      return { ...(item.id && { id: item.id }), type: item.type, summary, ...sealed };
    }
    case "compaction":
      return { ...item };
    default:
      // Known to the Agents SDK alone; `storedItem` puts the item itself beside it.
      return { type: "agents_item" };
  }
}

/** `name`: of the call that a result belongs to. */
function agentItem(item: ResponsesItem, name: string): AgentInputItem {
  const id = typeof item.id === "string" ? { id: item.id } : {};
  switch (item.type ?? "message") {
    case "message":
      return messageOf(item);
    case "function_call": {
      const { call_id: callId = "", name: called = "", arguments: input = "" } = item;
      const status = item.status ? { status: item.status as "completed" } : {};
      return { ...id, type: "function_call", callId, name: called, arguments: input, ...status };
    }
    case "function_call_output": {
      const { call_id: callId = "", output } = item;
      const status = (item.status ?? "completed") as "completed";
      return {
        ...id,
        type: "function_call_result",
        callId,
        name: item.name ?? name,
        output: outputOf(output),
        status,
      };
    }
    case "reasoning": {
      const content = (item.summary ?? []).map(({ text = "" }) => ({ type: "input_text" as const, text }));
      const { encrypted_content } = item;
      return {
        ...id,
        type: "reasoning",
        content,
        ...(encrypted_content && { providerData: { encrypted_content } }),
      };
    }
    case "compaction":
      return item as Typed<"compaction">;
    default:
      return { type: "unknown", providerData: item };
  }
}

function messageOf({ id, type, role, status, content }: ResponsesItem): AgentInputItem {
  const base = { ...(id && { id }), ...(type && { type: "message" as const }) };
  const parts = partsOf(content);
  if (role === "assistant") {
    const said = parts.map((part) => agentPart({ ...part, type: assistantType(part) })) as Said<"assistant">;
    return { ...base, role, status: (status ?? "completed") as "completed", content: said };
  }
  if (role === "user") {
    return {
      ...base,
      role,
      content: typeof content === "string" ? content : (parts.map(agentPart) as Said<"user">),
    };
  }
  return { ...base, role: "system", content: parts.map(({ text }) => text ?? "").join("\n") };
}

function assistantType({ type }: ResponsesPart): string {
  return type === "input_text" ? "output_text" : type;
}

/** Text that is equal for equal values, whatever the order of their members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part && typeof part === "object" && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part,
  );
}

/** A copy as JSON has it, bytes as base64. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return base64(value);
  if (Array.isArray(value)) return value.map(plain);
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
}
