/** Parameters of calls: camelCase names here, snake_case in the API. What stands inside a value is as the API has it. */

type CamelCase<S> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : S;

/** A value of a request. A JSON object of open shape may be of any interface, as other SDKs declare theirs. */
type Value<T> = T extends readonly (infer Element)[]
  ? readonly Value<Element>[]
  : T extends object
    ? string extends keyof T
      ? object
      : T
    : T;

/** The body of a request, as parameters. */
export type Params<Body> = { [Name in keyof Body as CamelCase<Name>]: Value<Body[Name]> };

/** A body or a query with the API's names. */
export type Wire = Record<string, unknown>;

/** Gives parameters the API's names. */
export function wire(params: object): Wire {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [snakeCase(name), value]));
}

/** A URL's query, without what is not set. */
export function query(params: Wire): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value instanceof Date) search.set(name, value.toISOString());
    else if (typeof value === "object" && value !== null)
      for (const [key, its] of Object.entries(value)) search.set(`${name}[${key}]`, String(its));
    else if (value !== undefined && value !== null) search.set(name, String(value));
  }
  const text = search.toString();
  return text && `?${text}`;
}

/** A path whose values are one segment each, whatever characters they have. */
export function path(parts: TemplateStringsArray, ...segments: string[]): string {
  return String.raw({ raw: parts }, ...segments.map(segment));
}

/** One segment of a path. Empty ones and dots would name another path. */
export function segment(text: string): string {
  if (["", ".", ".."].includes(text)) throw new TypeError(`${JSON.stringify(text)} is no id`);
  return encodeURIComponent(text);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
