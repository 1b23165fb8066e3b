import type { OrderObject } from '@sluice/client';
import { me, simulated } from '../state/server.ts';
import { useStore } from '../state/store.ts';

/** Whether orders of this server are real: `live`, `paper` or `trading off`. The header says whether the chain is simulated. */
export function ModeBadge() {
  const mode = useStore(me)?.trading;
  const isSimulated = useStore(simulated) === true;
  switch (mode) {
    case undefined:
      return null;
    case 'off':
      return (
        <span class="badge off" title="The server refuses orders (TRADING=off)">
          trading off
        </span>
      );
    case 'paper':
      return (
        <span class="badge paper" title="Orders are filled at their quotes. Nothing is sent (TRADING=paper)">
          paper
        </span>
      );
    case 'live':
      return isSimulated ? null : (
        <span class="badge live" title="Orders spend real coins">
          live
        </span>
      );
  }
}

/** Whether one order was real. Nothing on a simulated chain, which the header names. */
export function OrderBadge({ kind }: Pick<OrderObject, 'kind'>) {
  const isSimulated = useStore(simulated) === true;
  if (kind === 'paper') return <span class="badge paper">paper</span>;
  return isSimulated ? null : <span class="badge live">live</span>;
}
