import type { OrderObject } from '@sluice/client';
import { me, simulated } from '../state/server.ts';
import { useStore } from '../state/store.ts';

const modes = {
  off: ['trading off', 'The server refuses orders (TRADING=off)'],
  paper: ['paper', 'Orders are filled at their quotes. Nothing is sent (TRADING=paper)'],
  live: ['live', 'Orders spend real coins'],
} as const;

/** Whether orders of this server are real. The header says whether the chain is simulated. */
export function ModeBadge() {
  const mode = useStore(me)?.trading;
  const isSimulated = useStore(simulated) === true;
  if (mode === undefined || (mode === 'live' && isSimulated)) return null;
  const [text, title] = modes[mode];
  return (
    <span class={`badge ${mode}`} title={title}>
      {text}
    </span>
  );
}

/** Whether one order was real. Nothing on a simulated chain, which the header names. */
export function OrderBadge({ kind }: Pick<OrderObject, 'kind'>) {
  const isSimulated = useStore(simulated) === true;
  if (kind === 'paper') return <span class="badge paper">paper</span>;
  return isSimulated ? null : <span class="badge live">live</span>;
}
