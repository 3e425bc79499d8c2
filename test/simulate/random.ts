/** Numbers that look random and follow from a seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). Mulberry32, which is public domain. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A generator of its own: what it is asked changes nothing for the others. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }

  /** Whether something happens that has this chance. */
  isHit(chance: number): boolean {
    return this.next() < chance;
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  /** A whole number, both ends included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[Math.floor(this.next() * items.length)] ?? items[0];
  }

  /** A version 4 UUID. */
  uuid(): string {
    const hex = (digits: number): string =>
      Array.from({ length: digits }, () => this.whole(0, 15).toString(16)).join("");
    return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
  }
}

/** The item that a die in [0, 1) chooses. */
export function pick<Item>(items: readonly Item[], die: number): Item | undefined {
  return items[Math.floor(die * items.length)];
}
