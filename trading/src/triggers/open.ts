import { knownChain, type ChainIdentity } from '../nodes/chain-identity.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { createTriggerDesk, type TriggerDeskParts } from './desk.ts';
import { TriggerEngine, type EngineParts } from './engine/engine.ts';
import { openLogWatch, type LogWatchParts } from './engine/log-watch.ts';

type FromStore = 'keys' | 'orders' | 'table' | 'paper' | 'nowMs';

export interface TriggersParts
  extends
    Omit<EngineParts, FromStore | 'openWatch' | 'chain'>,
    Pick<LogWatchParts, 'bus' | 'readPrices'>,
    Pick<TriggerDeskParts, 'wallets'> {
  readonly store: Pick<Store, 'triggers' | 'orders' | 'keys' | 'time'>;
  readonly mode: 'off' | 'paper' | 'live';
  readonly chain: Pick<ChainIdentity, 'known' | 'status'>;
}

/** Without trading no trigger is loaded. */
const nowhere: Pick<ChainIdentity, 'known'> = { known: new Promise(() => undefined) };

/** Runs the triggers of the mode, and arms and cancels them. Without trading none is armed or fires. */
export function openTriggers(parts: TriggersParts) {
  const { store, mode, chain } = parts;
  const { triggers: table, orders, keys, time } = store;
  const ofMode = { ...parts, table, orders, keys, paper: mode === 'paper', nowMs: (): number => time.nowMs() };
  const engine = new TriggerEngine({
    ...ofMode,
    openWatch: (term, onMet) => openLogWatch(ofMode, term, onMet),
    chain: (signal) => knownChain(mode === 'off' ? nowhere : chain, signal),
  });
  return { engine, desk: createTriggerDesk({ ...ofMode, engine }) };
}
