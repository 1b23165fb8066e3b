import { constant, integer, oneof, option, record, type Arbitrary } from 'fast-check';
import { PositionLedger } from '../../followers/src/positions/ledger.ts';
import type { Position } from '../../followers/src/positions/position.ts';
import type { StoredWalletState } from '../../followers/src/positions/wallet-state.ts';
import type { PositionEvent, WalletTrade } from '../../followers/src/positions/wallet-trade.ts';
import { decodePosition, decodeWalletState, encodePosition, encodeWalletState } from '../../followers/src/positions/stored.ts';

/** The life of one wallet on a chain with forks, and what a follower of the log is shown of it. */
const wallet = 'wallet';
export const mints = ['coin a', 'coin b'] as const;

export type Step =
  | {
      readonly does: 'trade';
      readonly mint: number;
      readonly side: 'buy' | 'sell';
      readonly tokens: number;
      readonly lamports: number | null;
      /** `late`: the log has it some slots later. `missed`: never. `lacked`: the block lacks it, so it is retracted. */
      readonly fate: 'shown' | 'lacked' | 'late' | 'missed';
    }
  | { readonly does: 'transfer'; readonly mint: number; readonly change: number }
  | { readonly does: 'slot'; readonly dies: boolean }
  | { readonly does: 'gap'; readonly entries: number }
  | { readonly does: 'restart' | 'check' };

const mint = integer({ min: 0, max: mints.length - 1 });
const amount = integer({ min: 1, max: 1_000 });
const tradeWith = (...fates: Extract<Step, { does: 'trade' }>['fate'][]): Arbitrary<Step> =>
  record({
    does: constant('trade' as const),
    mint,
    side: oneof(constant('buy' as const), constant('sell' as const)),
    tokens: amount,
    lamports: option(integer({ min: 0, max: 1_000_000 }), { freq: 8, nil: null }),
    fate: oneof(...fates.map((fate) => constant(fate))),
  });
const slotEnd: Arbitrary<Step> = record({ does: constant('slot'), dies: integer({ min: 0, max: 4 }).map((n) => n === 0) });
const gap: Arbitrary<Step> = record({ does: constant('gap'), entries: integer({ min: 1, max: 12 }) });
const just = (does: 'restart' | 'check'): Arbitrary<Step> => constant({ does });

/** What the log shows sooner or later, without transfers. */
export const shownStep = oneof(
  { weight: 6, arbitrary: tradeWith('shown', 'shown', 'lacked') },
  { weight: 4, arbitrary: slotEnd },
  { weight: 1, arbitrary: gap },
  { weight: 1, arbitrary: just('restart') },
);
/** Also what the log lacks, and tokens that come and go without trades. */
export const anyStep = oneof(
  { weight: 6, arbitrary: tradeWith('shown', 'shown', 'lacked', 'late', 'missed') },
  { weight: 5, arbitrary: slotEnd },
  { weight: 1, arbitrary: gap },
  { weight: 1, arbitrary: just('restart') },
  { weight: 2, arbitrary: just('check') },
  { weight: 2, arbitrary: record({ does: constant('transfer'), mint, change: integer({ min: -1_000, max: 1_000 }) }) },
);

export class RandomWallet {
  ledger = new PositionLedger();
  /** Trades of the chain that survived, in its order. */
  readonly alive: WalletTrade[] = [];
  readonly balances = new Map<string, bigint>(mints.map((name) => [name, 0n]));
  #open: { readonly trade: WalletTrade; readonly isLacking: boolean }[] = [];
  /** Balances at the end of the open slot, if it lives. */
  #branch = new Map(this.balances);
  #slot = 1;
  #late: { readonly trade: WalletTrade; readonly atSlot: number }[] = [];
  #dropping = 0;
  /** The slot that must be confirmed before the history shows what the log lacks. */
  #historyAt: number | null = null;
  #trades = 0;

  constructor() {
    const added = this.ledger.add(wallet, null);
    this.ledger.addHistory(added, { from: 0, trades: [], to: 0, isCut: false });
  }

  get state() {
    return this.ledger.get(wallet)!;
  }

  take(step: Step): void {
    if (step.does === 'trade') this.#trade(step);
    else if (step.does === 'transfer') this.#branched(mints[step.mint]!, BigInt(step.change), true);
    else if (step.does === 'slot') this.#endSlot(step.dies);
    else if (step.does === 'gap') this.#gap(step.entries);
    else if (step.does === 'restart') this.#restart();
    else this.check();
  }

  /** Confirms all slots, shows everything that is late, and checks the balances. */
  end(): void {
    for (let slots = 0; slots < 24; slots++) this.#endSlot(false);
    this.check();
  }

  /** Reads the balance of the chain, looks for what explains a difference in its history, and counts the rest. */
  check(): void {
    const { ledger, state } = this;
    const balances = { slot: this.#slot - 1, newestSlot: this.#slot - 1, amounts: this.balances, atMs: this.#slot * 400 };
    const first = ledger.compare(state, balances);
    if (typeof first === 'string') return;
    if (first.size > 0) this.#readHistory();
    const second = ledger.compare(state, balances);
    if (typeof second === 'string') throw new Error(`the second comparison is ${second}`);
    ledger.correct(state, second, balances);
  }

  #trade({ mint: at, side, tokens, lamports, fate }: Extract<Step, { does: 'trade' }>): void {
    const name = mints[at]!;
    const moved = this.#branched(name, side === 'buy' ? BigInt(tokens) : -BigInt(tokens), fate !== 'lacked');
    if (moved === 0n) return;
    const number = ++this.#trades;
    const value = lamports === null ? null : BigInt(lamports);
    const leg = { mint: name, side, tokens: moved < 0n ? -moved : moved, lamports: value, decimals: 6 };
    const trade: WalletTrade = {
      id: `signature ${number}:0`,
      signature: `signature ${number}`,
      slot: this.#slot,
      index: this.#open.length,
      commitment: 'processed',
      legs: [{ ...leg, atMs: this.#slot * 400 }],
    };
    this.#open.push({ trade, isLacking: fate === 'lacked' });
    if (fate === 'late') this.#late.push({ trade, atSlot: this.#slot + 3 });
    else if (fate !== 'missed') this.#log({ kind: 'trade', wallet, trade });
  }

  #endSlot(dies: boolean): void {
    const slot = this.#slot++;
    const trades = this.#open;
    this.#open = [];
    for (const { trade, isLacking } of trades) {
      if (isLacking) this.#log({ kind: 'retract', wallet, id: trade.id });
      else if (!dies) this.alive.push(trade);
    }
    if (!dies) for (const [name, amountAfter] of this.#branch) this.balances.set(name, amountAfter);
    this.#branch = new Map(this.balances);
    this.#log({ kind: 'slots', verdict: dies ? { alive: [], dead: [slot] } : { alive: [slot], dead: [] } });
    const due = this.#late.filter(({ atSlot }) => atSlot <= this.#slot);
    this.#late = this.#late.filter(({ atSlot }) => atSlot > this.#slot);
    for (const { trade } of due)
      if (this.alive.includes(trade)) this.#log({ kind: 'trade', wallet, trade: { ...trade, commitment: 'confirmed' } });
    if (this.#historyAt === null || slot < this.#historyAt) return;
    this.#historyAt = null;
    this.#readHistory();
  }

  /** The part of a change that the wallet can make in the open slot. */
  #branched(name: string, wished: bigint, counts: boolean): bigint {
    const before = this.#branch.get(name)!;
    const change = before + wished < 0n ? -before : wished;
    if (counts) this.#branch.set(name, before + change);
    return change;
  }

  #gap(entries: number): void {
    this.#dropping = entries;
    this.#historyAt = Number.POSITIVE_INFINITY;
  }

  #log(event: PositionEvent): void {
    if (this.#dropping > 0) {
      this.#dropping--;
      return;
    }
    if (this.#historyAt === Number.POSITIVE_INFINITY) {
      this.#historyAt = this.#slot;
      this.ledger.markBehind();
    }
    this.ledger.take([event]);
  }

  #readHistory(): void {
    const from = this.ledger.historyFrom(this.state);
    const trades = this.alive.filter(({ slot }) => slot > from).map((trade) => ({ ...trade, id: `${trade.id} read` }));
    this.ledger.addHistory(this.state, { from, trades, to: this.#slot - 1, isCut: false });
  }

  /** The process ends, and the next one continues with what was stored. */
  #restart(): void {
    const stored = storedOf(this.ledger);
    const { confirmedSlot } = this.ledger;
    this.ledger = new PositionLedger();
    this.ledger.confirmedSlot = confirmedSlot;
    const state = decodeWalletState(encodeWalletState(stored.state));
    const positions = new Map([...stored.positions].map(([name, position]) => [name, decodePosition(encodePosition(position))]));
    this.ledger.add(wallet, state, positions);
  }
}

/** All of a ledger as a store would have it. */
function storedOf(ledger: PositionLedger): { readonly state: StoredWalletState; readonly positions: ReadonlyMap<string, Position> } {
  ledger.takeChanges();
  const state = ledger.get(wallet)!;
  const positions = [...state.mints].flatMap((name) => {
    const position = state.settled(name);
    return position === null ? [] : [[name, position] as const];
  });
  return { state: state.stored, positions: new Map(positions) };
}
