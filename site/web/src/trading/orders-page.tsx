import { useState } from 'preact/hooks';
import { DocsLink } from '../parts/links.tsx';
import { ModeBadge } from '../parts/mode.tsx';
import { Button, Card, Choice } from '../parts/parts.tsx';
import { me } from '../state/server.ts';
import { useStore } from '../state/store.ts';
import { OrderList } from './orders/orders.tsx';
import { CancelAll } from './triggers/cancel-all.tsx';
import { TriggerTable } from './triggers/trigger-list.tsx';
import { useTriggers } from './triggers/use-triggers.ts';

export function OrdersPage() {
  const trading = useStore(me)?.trading;
  return (
    <>
      <div class="page-head">
        <h1>Orders</h1>
        <ModeBadge />
        <DocsLink page="http-trading" about="orders" />
      </div>
      {trading !== 'off' && <Triggers />}
      <Card id="orders" title="Placed orders">
        <OrderList wallet={null} />
      </Card>
    </>
  );
}

/** The orders that wait. */
function Triggers() {
  const [shown, setShown] = useState<'open' | 'all'>('open');
  const { triggers, next, fault, readMore } = useTriggers({ mint: null, isOpen: shown === 'open' });
  const choice = (
    <Choice
      name="Triggers"
      value={shown}
      onChange={setShown}
      options={[
        ['open', 'Open'],
        ['all', 'All'],
      ]}
    />
  );
  const empty =
    shown === 'open' ? 'No trigger is armed. The page of a token arms them.' : 'No triggers yet. The page of a token arms them.';
  return (
    <Card id="triggers" title="Triggers" aside={choice}>
      <TriggerTable triggers={triggers} fault={fault} empty={empty} />
      {next !== null && <Button onClick={readMore}>Older triggers</Button>}
      <CancelAll triggers={triggers ?? []} />
    </Card>
  );
}
