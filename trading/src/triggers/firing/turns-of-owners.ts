import { ownerOf, type Owner } from '@sluice/gateway/store/order-model/order.ts';

/** Most triggers whose firing has begun and whose order waits for its turn: of a key, of an owner, and of all. */
const most = { ofKey: 8, ofOwner: 16, ofAll: 32 } as const;
/** The same for all, if every one of them is the only one of its owner. */
const mostOwners = 256;
/** Orders that are placed at the same time: of a key, and of all. */
const mostAtOnce = { ofKey: 4, ofAll: 8 } as const;

/**
 * Decides whose order is placed next: owners take turns, and a key never has more than a part of the places. An owner that has nothing in work may
 * always begin a firing, so that a thousand triggers of one key delay nobody else.
 */
export class TurnsOfOwners<Item extends { readonly owner: Owner }> {
  readonly #waiting = new Map<string, Item[]>();
  readonly #ofKey = new Map<string, number>();
  readonly #ofOwner = new Map<string, number>();
  readonly #placing = new Map<string, number>();
  #begun = 0;
  #placed = 0;

  /** Triggers whose firing has begun and whose order was not placed yet. */
  get size(): number {
    return this.#begun;
  }

  /** Whether a firing of this owner may begin. */
  mayBegin(owner: Owner): boolean {
    const ofOwner = this.#ofOwner.get(ownerOf(owner)) ?? 0;
    if (ofOwner === 0) return this.#begun < mostOwners;
    return this.#begun < most.ofAll && ofOwner < most.ofOwner && (this.#ofKey.get(owner.keyId) ?? 0) < most.ofKey;
  }

  /** Counts a firing that begins, until `end`. */
  begin(owner: Owner): void {
    this.#begun++;
    count(this.#ofOwner, ownerOf(owner), 1);
    count(this.#ofKey, owner.keyId, 1);
  }

  /** Queues a firing that was begun and is stored. */
  add(item: Item): void {
    const owner = ownerOf(item.owner);
    const queue = this.#waiting.get(owner);
    if (queue === undefined) this.#waiting.set(owner, [item]);
    else queue.push(item);
  }

  /** The next one whose order may be placed now. Null: none. Call `done` afterwards. */
  next(): Item | null {
    if (this.#placed === mostAtOnce.ofAll) return null;
    for (const [owner, queue] of this.#waiting) {
      const at = queue.findIndex((item) => (this.#placing.get(item.owner.keyId) ?? 0) < mostAtOnce.ofKey);
      if (at === -1) continue;
      const [item] = queue.splice(at, 1);
      // Moves the owner to the end.
      this.#waiting.delete(owner);
      if (queue.length > 0) this.#waiting.set(owner, queue);
      this.#placed++;
      count(this.#placing, item!.owner.keyId, 1);
      return item!;
    }
    return null;
  }

  /** The order was placed or refused. */
  done({ owner }: Item): void {
    this.#placed--;
    count(this.#placing, owner.keyId, -1);
  }

  /** A firing that was begun is over, or waits for its next attempt. */
  end(owner: Owner): void {
    this.#begun--;
    count(this.#ofOwner, ownerOf(owner), -1);
    count(this.#ofKey, owner.keyId, -1);
  }
}

function count(counts: Map<string, number>, name: string, by: 1 | -1): void {
  const value = (counts.get(name) ?? 0) + by;
  if (value === 0) counts.delete(name);
  else counts.set(name, value);
}
