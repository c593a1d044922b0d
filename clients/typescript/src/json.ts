import { InvalidResponseError } from "./errors.js";

/** What a text of the service says. */
export function parseJSON<T>(text: string, what: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new InvalidResponseError(`${what} is not JSON`, { cause: error });
  }
}
