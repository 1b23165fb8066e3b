import { joinLosses, type SlotLoss } from '@sluice/shared/market/verdicts/slot-verdict.ts';

/** Losses that are further apart are reported separately. */
const nearSlots = 512;
/** Losses in one report. Further ones are joined to the last. */
const maxLosses = 8;

/** Losses, collected until the next report: events of the chain that will never be published. */
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
