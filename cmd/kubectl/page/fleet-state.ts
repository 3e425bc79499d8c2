import { timestampOf } from "../../../api/conditions.ts";
import { plainText } from "../../../api/foreign-text.ts";
import { KnownSecrets } from "../bundle/known-secrets.ts";
import { Redactor } from "../bundle/write-bundle.ts";
import type { FleetFeed, FleetState } from "../fleet/fleet-feed.ts";
import type { StatusItem } from "../fleet/status-item.ts";
import type { FleetStatus } from "../fleet/status.ts";
import { rolloutItemOf, rolloutStatusOf } from "../hub/rollout-item.ts";
import { withCodes } from "../output/report.ts";

/** How fresh the fleet on the page is: one message of the stream. */
export interface PageState {
  /** Grows when the fleet changes; a page that has this revision is up to date. */
  readonly revision: number;
  readonly hubReadAt: string;
  /** Null before every cluster was read once, and with --no-live. */
  readonly spokesReadAt: string | null;
  /** The round through the clusters that is under way. */
  readonly round: { readonly done: number; readonly total: number } | null;
  /** Why the hub cannot be read now. */
  readonly trouble: string | null;
  /** When the bundle was gathered; null for a fleet. */
  readonly recordedAt: string | null;
  /** The beginning of commands of kubectl, with the flags that the page was started with. */
  readonly kubectl: string;
  /** The beginning of our commands, with these flags. */
  readonly knfleet: string;
}

interface PageOptions {
  readonly recordedAt: Date | undefined;
  readonly kubectl: string;
  readonly knfleet: string;
}

// A round through a thousand clusters changes the fleet a thousand times.
const paceMs = 500;

/** The fleet as the page gets it: documents without what looks like a secret, and listeners that are called twice a second at most. */
export class PageFleet {
  readonly #redactor = new Redactor(new KnownSecrets().finder());
  readonly #listeners = new Set<(state: PageState) => void>();
  readonly #options: PageOptions;
  #feed: FleetFeed | undefined;
  #revision = 1;
  #content: readonly string[] = [];
  /** Most rows stay the same for long. */
  readonly #texts = new WeakMap<StatusItem, string>();
  #made: { readonly revision: number; readonly text: string } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #toldAtMs = 0;

  constructor(options: PageOptions) {
    this.#options = options;
  }

  /** Says which feed the fleet comes from. */
  follow(feed: FleetFeed): void {
    this.#feed = feed;
  }

  /** The feed has changed. Its revision grows only when the fleet did, because a page reads the whole fleet for each. */
  changed(): void {
    // The first change after a pause is told at once.
    const rest = Math.max(0, this.#toldAtMs + paceMs - performance.now());
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#toldAtMs = performance.now();
      const { report, sets } = this.#read();
      const others = JSON.stringify([report.errors, report.controller, sets?.map(rolloutItemOf)]);
      const content = [...this.#itemTexts(report), others];
      if (!isSame(content, this.#content)) this.#revision += 1;
      this.#content = content;
      const state = this.state();
      for (const listener of this.#listeners) listener(state);
    }, rest);
  }

  /** How fresh the fleet is. */
  state(): PageState {
    const { recordedAt, kubectl, knfleet } = this.#options;
    const { hubReadAt, spokesReadAt, round, trouble } = this.#read();
    return {
      revision: this.#revision,
      hubReadAt: timestampOf(hubReadAt),
      spokesReadAt: spokesReadAt === null ? null : timestampOf(spokesReadAt),
      round,
      trouble: trouble === null ? null : plainText(this.#redactor.text(trouble)),
      recordedAt: recordedAt === undefined ? null : timestampOf(recordedAt),
      kubectl,
      knfleet,
    };
  }

  /** The fleet without what looks like a secret: the text of the FleetStatus document, as `status -o json` prints it. */
  documentText(): string {
    if (this.#made?.revision !== this.#revision) {
      const { report } = this.#read();
      const { items: _, ...others } = withCodes(report);
      const head = JSON.stringify(this.#redactor.value(others)).slice(0, -"}".length);
      const text = `${head},"items":[${this.#itemTexts(report).join(",")}]}`;
      this.#made = { revision: this.#revision, text };
    }
    return this.#made.text;
  }

  #itemTexts({ items }: FleetStatus): readonly string[] {
    return items.map((item) => {
      const known = this.#texts.get(item);
      if (known !== undefined) return known;
      const text = JSON.stringify(this.#redactor.value(item));
      this.#texts.set(item, text);
      return text;
    });
  }

  /** The rollouts of all sets: the text of a RolloutStatus document. */
  setsText(): string {
    const { report, sets } = this.#read();
    const document = rolloutStatusOf(sets?.map(rolloutItemOf) ?? null, report);
    return JSON.stringify(this.#redactor.value(withCodes(document)));
  }

  /** Calls the listener after changes, until the returned function is called. */
  listen(listener: (state: PageState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#listeners.clear();
  }

  #read(): FleetState {
    if (this.#feed === undefined) throw new Error("The page has no fleet yet");
    return this.#feed.state();
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, at) => text === other[at]);
}
