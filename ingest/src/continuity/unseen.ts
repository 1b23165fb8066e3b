import { joinLosses, type SlotLoss } from '@sluice/shared/market/slot-verdict.ts';

/** Losses that lie further apart are told apart. */
const nearSlots = 512;
/** Losses told apart at one time; more are joined to the last of them. */
const maxLosses = 8;

/** What happened on the chain and will never be told, gathered between two tellings. */
export class Unseen {
  #losses: SlotLoss[] = [];

  add(loss: SlotLoss): void {
    const near = this.#losses.findIndex(({ from, to }) => loss.from <= to + nearSlots && loss.to >= from - nearSlots);
    const place = near === -1 && this.#losses.length === maxLosses ? maxLosses - 1 : near;
    if (place === -1) this.#losses.push(loss);
    else this.#losses[place] = joinLosses(this.#losses[place]!, loss);
  }

  take(): readonly SlotLoss[] {
    return this.#losses.splice(0);
  }
}
