import { InvalidResponseError } from "./errors.js";

/** The longest line that is held, in UTF-16 units: 64 MiB, twice the largest body that the service takes. */
const LONGEST_LINE = 1 << 26;

/** Lines in a text that comes in pieces, ended by LF, CR or both. What is not ended is no line. */
export class LineDecoder {
  readonly #longest: number;
  #begun: string[] = [];
  #length = 0;
  #afterCR = false;

  constructor(longest = LONGEST_LINE) {
    this.#longest = longest;
  }

  /** The lines that this piece ends. */
  decode(piece: string): string[] {
    if (piece === "") return [];
    const text = this.#afterCR && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#afterCR = piece.endsWith("\r");
    const [head = "", ...tail] = text.split(/\r\n|\r|\n/);
    this.#hold(head);
    if (tail.length === 0) return [];
    const lines = [this.#begun.join(""), ...tail.slice(0, -1)];
    this.#begun = [];
    this.#length = 0;
    this.#hold(tail.at(-1) ?? "");
    return lines;
  }

  #hold(text: string): void {
    this.#begun.push(text);
    this.#length += text.length;
    if (this.#length > this.#longest)
      throw new InvalidResponseError(`a line is longer than ${this.#longest} characters`);
  }
}
