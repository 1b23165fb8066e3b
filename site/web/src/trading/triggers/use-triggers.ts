import { useState } from 'preact/hooks';
import { useSignal } from '../../parts/hooks.ts';
import { soon } from '../../state/bounded.ts';
import { faultText, me, sluice } from '../../state/server.ts';
import { Store, useStore } from '../../state/store.ts';
import { mergeTriggers } from './merge.ts';
import type { Trigger } from './trigger.ts';

const pageSize = 100;
const retryMs = 4_000;
/** Events are applied together. */
const drawEveryMs = 100;
const openStates = ['armed', 'firing', 'waiting'] as const;

/** Grows when the page has changed triggers, so that lists need not wait for the stream. */
export const triggersVersion = new Store(0);

export interface TriggersQuery {
  /** Null: of all tokens. */
  readonly mint: string | null;
  /** Without those that have ended. */
  readonly isOpen: boolean;
}

interface Listed {
  readonly of: string;
  readonly triggers: readonly Trigger[] | null;
  /** Older ones follow this one. */
  readonly next: string | null;
  readonly fault: string | null;
  /** How often one of them has fired while it was listed. */
  readonly fired: number;
}

/** The triggers of the key or account, newest first, updated as they change. At most 100 of each state if they are to be open ones only. */
export function useTriggers({ mint, isOpen }: TriggersQuery) {
  const of = `${mint ?? ''} ${isOpen}`;
  const blank: Listed = { of, triggers: null, next: null, fault: null, fired: 0 };
  const [state, setState] = useState(blank);
  const update = (change: (last: Listed) => Partial<Listed>): void =>
    setState((before) => {
      const last = before.of === of ? before : blank;
      return { ...last, ...change(last) };
    });
  const query = { limit: pageSize, ...(mint !== null && { mint }) };
  const fail = (error: unknown): void => update(() => ({ fault: faultText(error) }));
  const turn = useStore(triggersVersion);
  // A server without trading has none to list.
  const isOff = useStore(me)?.trading === 'off';
  useSignal([of, turn, isOff], (signal) => {
    if (isOff) return;
    /** What the stream has reported since the read that is under way began, or since the last one. */
    let events: Trigger[] = [];
    let undrawn: Trigger[] = [];
    let [reads, shown] = [0, 0];
    const draw = soon(
      () => {
        const [more, fired] = [undrawn, undrawn.filter(({ status }) => status === 'fired').length];
        undrawn = [];
        update((last) => ({ triggers: last.triggers && mergeTriggers(last.triggers, more, isOpen), fired: last.fired + fired }));
      },
      drawEveryMs,
      signal,
    );
    const read = async (): Promise<void> => {
      const number = ++reads;
      events = [];
      const pages = await Promise.all(
        isOpen
          ? openStates.map((status) => sluice.triggers.list({ ...query, status }, { signal }))
          : [sluice.triggers.list(query, { signal })],
      );
      // An answer may arrive after that of a later request.
      if (number < shown) return;
      shown = number;
      const fresh = mergeTriggers(
        pages.flatMap(({ triggers }) => triggers),
        events,
        isOpen,
      );
      update(({ triggers, next }) => ({
        // Of open ones, what the answer lacks has ended.
        triggers: isOpen ? fresh : mergeTriggers(triggers ?? [], fresh, isOpen),
        next: isOpen ? null : triggers === null ? pages[0]!.next : next,
        fault: null,
      }));
    };
    const readSafely = (): void =>
      void read().catch((error: unknown) => {
        if (signal.aborted) return;
        fail(error);
        readLater();
      });
    const readLater = soon(readSafely, retryMs, signal);
    sluice.subscribe('orders', {
      signal,
      onEvent: (event) => {
        if (event.type !== 'trigger' || (mint !== null && event.mint !== mint)) return;
        events = mergeTriggers(events, [event], false);
        undrawn = mergeTriggers(undrawn, [event], false);
        draw();
      },
      onGap: readSafely,
      onError: fail,
    });
    readSafely();
  });
  const readMore = async (before: string): Promise<void> => {
    const page = await sluice.triggers.list({ ...query, before });
    update(({ triggers }) => ({ triggers: mergeTriggers(triggers ?? [], page.triggers, isOpen), next: page.next }));
  };
  const listed = state.of === of ? state : blank;
  const { next } = listed;
  return { ...listed, readMore: () => void (next !== null && readMore(next).catch(fail)) };
}
