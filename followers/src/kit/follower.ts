import type { Lease, LeaseTerm, LogEntry, LogPosition } from '@sluice/shared/bus/bus.ts';

/**
 * A consumer of the log that keeps a state of its own, such as candles. A `LogConsumer` runs it in the one process that holds its lease. The
 * consumer reads the log from the checkpoint of the state on, and hands over each event once, in log order.
 *
 * A state that must be exact under retraction holds its events in an `UndecidedEvents` until their slots are decided. It then says only what it does
 * with a decided event (`fold`) and with one that is gone (`undo`).
 *
 * A follower reads each entry by itself, so that a slow one delays no other. Examples: `../pools/` (a hint, without retraction), `../candles/`.
 */
export interface LogFollower<Event> {
  /** Name of its lease, and of its lines in the program's log. */
  readonly name: string;
  /** What it uses of an entry; null if nothing. It is called for every entry of the log, so it decides by the topics first. */
  read(entry: LogEntry): Event | null;
  /** Opens its state for one term of its lease. Rejects if the state does not answer. */
  open(leaseTerm: LeaseTerm & { readonly lease: Lease }): Promise<OpenState<Event>>;
}

export interface OpenState<Event> {
  /** The state contains all entries of the log up to here, and none after it. Null: it is new, and begins with the oldest entry of the log. */
  readonly checkpoint: LogPosition | null;
  /**
   * Stores what a section of the log changes and its end as the next checkpoint, both or neither. `fenced`: the term is over. `stale`: the
   * stored checkpoint is not `from`. After a rejection nobody knows whether the section was stored, so the state is opened again.
   */
  apply(section: Section<Event>): Promise<'applied' | 'fenced' | 'stale'>;
  /** Does what the state needs besides the log, for example publishes. It is called after each section, and every 25 ms. False: the term is over. */
  round?(isLast: boolean): Promise<boolean>;
  /** It is called once or twice. It makes a call that waits for the bus reject. */
  close(): Promise<void>;
}

/** Events in log order, and the positions before and after them. There may be none, if the entries of the section were of no use. */
export interface Section<Event> {
  readonly events: readonly Event[];
  readonly from: LogPosition | null;
  readonly to: LogPosition;
  /** The log lost entries before the first event of the section; `epoch`: and its numbers began again. Null: it lost none. */
  readonly afterLoss: 'trimmed' | 'epoch' | null;
  /** Further events that were already read from the log. */
  readonly left: number;
}
