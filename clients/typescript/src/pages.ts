/** What a list answers: some of it, and where it goes on. */
export interface Listing<Item> {
  items: Item[];
  next_cursor?: string | null;
}

/** Where a list begins, and how much of it comes at once. */
export interface PageParams {
  /** The cursor of the page before. */
  after?: string | undefined;
  /** Items a page: 1 to 200; 50. */
  limit?: number | undefined;
}

type Fetch<Answer> = (after: string | undefined) => Promise<Answer>;

/** One page of a list. Iterating gives its items, then those of the pages behind it. */
export class Page<Item, Answer extends Listing<Item> = Listing<Item>> implements AsyncIterable<Item> {
  /** The answer, whole. */
  readonly answer: Answer;
  readonly #fetch: Fetch<Answer>;

  constructor(answer: Answer, fetch: Fetch<Answer>) {
    this.answer = answer;
    this.#fetch = fetch;
  }

  get items(): Item[] {
    return this.answer.items;
  }

  /** For `after` of another call; undefined: this is the last page. */
  get nextCursor(): string | undefined {
    return this.answer.next_cursor ?? undefined;
  }

  /** The page behind this one, if there is one. */
  async nextPage(): Promise<Page<Item, Answer> | undefined> {
    const after = this.nextCursor;
    return after === undefined ? undefined : new Page(await this.#fetch(after), this.#fetch);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for (let page: Page<Item, Answer> | undefined = this; page; page = await page.nextPage()) yield* page.items;
  }
}

/** A list: `await` gives its first page, `for await` all of its items, page by page. Asks when it is used, not before. */
export class List<Item, Answer extends Listing<Item> = Listing<Item>>
  implements PromiseLike<Page<Item, Answer>>, AsyncIterable<Item>
{
  readonly #fetch: Fetch<Answer>;
  readonly #after: string | undefined;

  constructor(fetch: Fetch<Answer>, after: string | undefined) {
    this.#fetch = fetch;
    this.#after = after;
  }

  then<Done = Page<Item, Answer>, Failed = never>(
    done?: ((page: Page<Item, Answer>) => Done | PromiseLike<Done>) | null,
    failed?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    return this.#first().then(done, failed);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    yield* await this.#first();
  }

  async #first(): Promise<Page<Item, Answer>> {
    return new Page(await this.#fetch(this.#after), this.#fetch);
  }
}
