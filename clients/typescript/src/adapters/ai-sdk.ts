import type { ModelMessage } from "ai";
import { type Conversation, contextOf, guarded, type OnError, type TakenStep, usageOf } from "./transcript.js";

export { type Conversation, storeMessages } from "./transcript.js";

export interface PrepareStepOptions extends Conversation, OnError {}

/** What is used of a step's options. */
export interface Step {
  messages: ModelMessage[];
  steps: readonly TakenStep[];
  instructions?: string | { content: string } | { content: string }[] | undefined;
}

/**
 * A `prepareStep` for `generateText`, `streamText` and agents: stores what is new in the messages, and has the model
 * sent the context in their place. Give it the whole conversation at every turn, as the AI SDK has it.
 */
export function contextdPrepareStep(
  options: PrepareStepOptions,
): (step: Step) => Promise<{ messages?: ModelMessage[] }> {
  return async ({ messages, steps, instructions }) => {
    const whole = { messages, system: systemOf(instructions), usage: usageOf(steps) };
    const context = await guarded(options, () => contextOf(options, whole, (message) => message));
    return context ? { messages: context.messages } : {};
  };
}

function systemOf(instructions: Step["instructions"]): string | undefined {
  if (instructions === undefined) return undefined;
  return [instructions]
    .flat()
    .map((part) => (typeof part === "string" ? part : part.content))
    .join("\n\n");
}
