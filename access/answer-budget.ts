/** What one answer takes of the budget while it is read. Disposing it gives all of it back. */
export interface AnswerHold extends Disposable {
  /** So many bytes more are held. */
  add(bytes: number): void;
}

/** The part of the budget of one cluster. */
export interface ClusterAnswers {
  /** Begins an answer. `giveUp` is called at most once, when the answer has to go because of all that is held; the caller then drops it. */
  open(giveUp: () => void): AnswerHold;
}

export interface AnswerBudgetOptions {
  /** Bytes that all clusters together may hold. */
  readonly total: number;
  /** Bytes that one cluster may hold. */
  readonly each: number;
}

const mebibyte = 1024 * 1024;
const usual: AnswerBudgetOptions = { total: 96 * mebibyte, each: 48 * mebibyte };

interface Hold {
  bytes: number;
  readonly giveUp: () => void;
}

/**
 * The memory that unfinished answers of all clusters take together. When there is too much, the cluster that holds most loses its largest
 * answer: nobody waits, so that a cluster that answers without end takes nothing from the others.
 */
export class AnswerBudget {
  readonly #options: AnswerBudgetOptions;
  /** Those that hold something. */
  readonly #clusters = new Set<Cluster>();
  #bytes = 0;

  constructor(options: AnswerBudgetOptions = usual) {
    this.#options = options;
  }

  /** For one cluster. */
  cluster(): ClusterAnswers {
    const { total, each } = this.#options;
    const cluster: Cluster = new Cluster((bytes) => {
      this.#bytes += bytes;
      if (cluster.bytes === 0) this.#clusters.delete(cluster);
      else this.#clusters.add(cluster);
      if (bytes <= 0) return;
      while (cluster.bytes > each) cluster.dropLargest();
      while (this.#bytes > total) largest(this.#clusters)?.dropLargest();
    });
    return cluster;
  }
}

class Cluster implements ClusterAnswers {
  readonly #onChange: (bytes: number) => void;
  readonly #holds = new Set<Hold>();
  bytes = 0;

  constructor(onChange: (bytes: number) => void) {
    this.#onChange = onChange;
  }

  open(giveUp: () => void): AnswerHold {
    const hold: Hold = { bytes: 0, giveUp };
    this.#holds.add(hold);
    return {
      add: (bytes) => {
        if (!this.#holds.has(hold)) return;
        hold.bytes += bytes;
        this.#change(bytes);
      },
      [Symbol.dispose]: () => this.#end(hold),
    };
  }

  dropLargest(): void {
    const hold = largest(this.#holds);
    if (hold === undefined) return;
    this.#end(hold);
    hold.giveUp();
  }

  #end(hold: Hold): void {
    if (this.#holds.delete(hold)) this.#change(-hold.bytes);
  }

  #change(bytes: number): void {
    this.bytes += bytes;
    this.#onChange(bytes);
  }
}

function largest<Part extends { readonly bytes: number }>(parts: Iterable<Part>): Part | undefined {
  return [...parts].toSorted((a, b) => b.bytes - a.bytes)[0];
}
