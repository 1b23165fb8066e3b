import type { OrderObject } from '@sluice/client';
import { me, simulated } from '../state/server.ts';
import { useStore } from '../state/store.ts';

/** Whether orders of this server are real: `live`, `live on simnet`, `paper` or `trading off`. */
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
      return isSimulated ? (
        <span class="badge simulated" title="Orders are sent to the simulated chain">
          live on simnet
        </span>
      ) : (
        <span class="badge live" title="Orders spend real coins">
          live
        </span>
      );
  }
}

/** Whether one order was real. */
export function OrderBadge({ kind }: Pick<OrderObject, 'kind'>) {
  const isSimulated = useStore(simulated) === true;
  if (kind === 'paper') return <span class="badge paper">paper</span>;
  return isSimulated ? <span class="badge simulated">simnet</span> : <span class="badge live">live</span>;
}
