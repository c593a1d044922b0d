/** Entries of pi's sessions: as they are stored, and as messages of a context. */

import type { ContextEditEntry, ContextEvent, SessionEntry } from "@earendil-works/pi-coding-agent";

export type AgentMessage = ContextEvent["messages"][number];

/**
 * The entries of a branch as they are stored. Prompts, which pi sends beside its messages, compactions that are in
 * contextd already and what was taken out of pi's context stay as entries that say nothing; edits are carried out.
 */
export function storedEntries(branch: readonly SessionEntry[]): object[] {
  const edits = new Map(branch.filter(isEdit).map((edit) => [edit.targetId, edit.replacement]));
  return branch.map((entry) => {
    const edit = edits.get(entry.id);
    if (edit === null || isPrompt(entry) || isOurs(entry)) return { ...entry, type: "custom", customType: "contextd" };
    if (edit === undefined) return entry;
    return entry.type === "message" ? { ...entry, message: { ...entry.message, ...edit } } : { ...entry, ...edit };
  });
}

/** The entries of a context as the messages that pi makes of them. */
export function messagesOf(entries: readonly SessionEntry[]): AgentMessage[] {
  return entries.flatMap((entry) => {
    const timestamp = Date.parse(entry.timestamp);
    switch (entry.type) {
      case "message":
        return isPrompt(entry) ? [] : [entry.message];
      case "custom_message": {
        const { customType, content, display, details } = entry;
        return [{ role: "custom", customType, content, display, details, timestamp }];
      }
      case "branch_summary":
        return [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp }];
      default:
        return [];
    }
  });
}

function isEdit(entry: SessionEntry): entry is ContextEditEntry {
  return entry.type === "context_edit";
}

function isPrompt(entry: SessionEntry): boolean {
  return entry.type === "message" && entry.message.role === "system";
}

/** A compaction that contextd made: its details name it. */
function isOurs(entry: SessionEntry): boolean {
  return entry.type === "compaction" && Object(entry.details).contextd !== undefined;
}
