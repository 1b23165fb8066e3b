import { uptime } from 'node:os';
import { systemClock, type Clock } from './clock.ts';

/** Whose clock a process can read besides that of its machine. */
export type Party = 'database' | 'redis' | 'chain' | 'gateway';

/**
 * How far two clocks that agree may differ. It allows for slow answers and for block times, which are whole seconds and lag. A clock that
 * moves further than this at once has jumped.
 */
export const maxClockDifferenceMs = 30_000;
/** The time is taken from these only. The others are witnesses: block times are no exact times, and a signing process does not trust its gateway. */
const authorities: readonly Party[] = ['database', 'redis'];
export const partyNames: Readonly<Record<Party, string>> = {
  database: 'the database',
  redis: 'Redis',
  chain: 'the chain',
  gateway: 'the gateway',
};

/**
 * Wall time that at least two parties agree on. It is the time of the party that is shared with other processes (the database, otherwise Redis,
 * otherwise this machine), and passes by the steady clock in between. If that party's clock jumps, the time does not follow, unless a second
 * clock shows the same. Two clocks that jump at the same moment are one clock, that of a machine which runs both: neither confirms the other.
 * Without a second clock the machine's first time stays in force until the process restarts.
 */
export class AgreedTime {
  readonly #clock: Pick<Clock, 'wallMs' | 'steadyMs'>;
  readonly #uptimeMs: () => number;
  /** Each is a wall time minus the steady clock. */
  readonly #parties = new Map<Party, number>();
  #offsetMs: number;
  /** The system's uptime minus the steady clock, which does not advance while the machine is suspended. */
  #suspendedMs: number;
  /** What the last look saw. */
  #seen: { readonly authority: Party | null; readonly own: number; readonly reference: number };
  /** The authority's clock is this machine's. */
  #isOneClock = false;

  constructor(clock: Pick<Clock, 'wallMs' | 'steadyMs'> = systemClock, uptimeMs = (): number => uptime() * 1000) {
    [this.#clock, this.#uptimeMs] = [clock, uptimeMs];
    this.#offsetMs = this.#own();
    this.#suspendedMs = uptimeMs() - clock.steadyMs();
    this.#seen = { authority: null, own: this.#offsetMs, reference: this.#offsetMs };
  }

  /** Unix milliseconds, an integer. It never follows a jump. */
  nowMs(): number {
    return Math.floor(this.#offsetMs + this.#clock.steadyMs());
  }

  /** The earliest time that a clock of any party shows now, the agreed time included. */
  earliestMs(): number {
    return Math.floor(Math.min(this.#offsetMs, this.#own(), ...this.#parties.values()) + this.#clock.steadyMs());
  }

  /** Records the time that a party's clock showed when the steady clock showed `steadyMs`. */
  heard(party: Party, timeMs: number, steadyMs: number): void {
    const isFirst = this.#authority() === null;
    this.#parties.set(party, timeMs - steadyMs);
    // Other processes take the time from this party too.
    const authority = this.#authority();
    if (isFirst && authority !== null) this.#offsetMs = this.#parties.get(authority)!;
  }

  /** Compares the clocks. Call it from time to time, after `heard`. */
  look(): void {
    const own = this.#own();
    const authority = this.#authority();
    const reference = authority === null ? own : this.#parties.get(authority)!;
    const suspendedMs = this.#suspendedSinceLookMs();
    this.#compareJumps({ authority, own, reference }, suspendedMs);
    const others = [...this.#parties].filter(([party]) => party !== authority).map(([, offsetMs]) => offsetMs);
    if (authority !== null && !this.#isOneClock) others.push(own);
    const expected = [this.#offsetMs, this.#offsetMs + suspendedMs];
    if ([...expected, ...others].some((one) => agree(one, reference))) this.#offsetMs = reference;
  }

  /** Finds out whether the authority's clock is this machine's. */
  #compareJumps(now: { readonly authority: Party | null; readonly own: number; readonly reference: number }, suspendedMs: number): void {
    const before = this.#seen;
    this.#seen = now;
    const jumpedMs = now.own - before.own - suspendedMs;
    const haveJumped = !agree(jumpedMs, 0) && agree(now.reference - before.reference - suspendedMs, jumpedMs);
    if (now.authority !== before.authority || !agree(now.own, now.reference)) this.#isOneClock = false;
    else if (haveJumped) this.#isOneClock = true;
  }

  /** By how much the machine's clock is ahead of each other clock, in milliseconds. */
  get aheadMs(): ReadonlyMap<Party, number> {
    const own = this.#own();
    return new Map([...this.#parties].map(([party, offsetMs]) => [party, own - offsetMs]));
  }

  /** What is wrong with a clock. Null: all agree. */
  fault(): string | null {
    const own = this.#own();
    for (const [party, offsetMs] of this.#parties) {
      if (!agree(own, offsetMs)) return `The clock of this machine is ${difference(own - offsetMs)} that of ${partyNames[party]}.`;
    }
    if (agree(own, this.#offsetMs)) return null;
    return `The clock of this machine is ${difference(own - this.#offsetMs)} the time that has passed. If it is right now, restart this process.`;
  }

  #own(): number {
    return this.#clock.wallMs() - this.#clock.steadyMs();
  }

  #authority(): Party | null {
    return authorities.find((party) => this.#parties.has(party)) ?? null;
  }

  #suspendedSinceLookMs(): number {
    const suspendedMs = this.#uptimeMs() - this.#clock.steadyMs();
    const moreMs = suspendedMs - this.#suspendedMs;
    this.#suspendedMs = suspendedMs;
    return moreMs;
  }
}

/** The clock of a part that stores or judges times which other processes see. */
export function agreedClock(time: Pick<AgreedTime, 'nowMs'>, clock: Clock = systemClock): Clock {
  return { ...clock, wallMs: () => time.nowMs() };
}

function agree(a: number, b: number): boolean {
  return Math.abs(a - b) <= maxClockDifferenceMs;
}

function difference(aheadMs: number): string {
  return `${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs < 0 ? 'behind' : 'ahead of'}`;
}
