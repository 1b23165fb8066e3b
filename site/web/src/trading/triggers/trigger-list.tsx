import { useEffect, useState } from 'preact/hooks';
import { ago, dateTime } from '../../format/text.ts';
import { useOrder } from '../orders/followed.ts';
import { OrderFacts } from '../orders/order-facts.tsx';
import { errorText } from '../orders/words.ts';
import { useNow } from '../../parts/hooks.ts';
import { TokenLink, WalletLink } from '../../parts/links.tsx';
import { Button, Empty, Fact, Reading } from '../../parts/parts.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { nameOf, namesVersion, wantName } from '../../state/metadata/names.ts';
import { useStore } from '../../state/store.ts';
import { cancelTriggers } from './actions.ts';
import type { Trigger } from './trigger.ts';
import { amountText, conditionText, isOpen, reasonText, statusText } from './words.ts';

const namesAtOnce = 20;

interface TriggerTableProps {
  readonly triggers: readonly Trigger[] | null;
  readonly fault: string | null;
  /** Of the token, if the page is about one. */
  readonly tokenDecimals?: number;
  readonly empty: string;
}

/** Triggers with their states, newest first. */
export function TriggerTable({ triggers, fault, tokenDecimals, empty }: TriggerTableProps) {
  const [open, setOpen] = useState<string | null>(null);
  const ofToken = tokenDecimals !== undefined;
  const now = useNow();
  useStore(namesVersion);
  useEffect(() => {
    for (const { mint } of (triggers ?? []).slice(0, namesAtOnce)) if (mint !== null) wantName(mint);
  }, [triggers]);
  const columns: readonly Column<Trigger>[] = [
    ...(ofToken ? [] : [tokenColumn]),
    { head: 'Side', class: 'wraps', cell: ({ side }) => <span class={`side ${side}`}>{side}</span>, second: 'Amount' },
    { head: 'Waits for', class: 'condition', cell: conditionText, second: 'State' },
    { head: 'Amount', class: 'number wide-only', cell: (trigger) => amountText(trigger, tokenDecimals) },
    {
      head: 'State',
      class: 'wide-only',
      title: ({ status }) => statusText(status),
      cell: ({ status }) => <span class={`state ${status}`}>{status}</span>,
    },
    ...(ofToken
      ? []
      : [
          {
            head: 'Armed',
            class: 'number wide-only faint',
            title: ({ createdAt }: Trigger) => dateTime(createdAt),
            cell: ({ createdAt }: Trigger) => ago(createdAt, now),
          },
        ]),
    {
      head: <span class="hidden">Actions</span>,
      class: 'number wraps',
      cell: (trigger) => <Actions trigger={trigger} isOpened={open === trigger.triggerId} onOpen={setOpen} />,
    },
  ];
  return (
    <>
      <Reading fault={fault} isRead={triggers !== null} />
      {triggers?.length === 0 && <Empty>{empty}</Empty>}
      {triggers !== null && triggers.length > 0 && (
        <Table
          columns={columns}
          rows={triggers}
          keyOf={({ triggerId }) => triggerId}
          below={(trigger) => [
            ...(isOpen(trigger) && trigger.waitingFor !== null ? [['warn', reasonText(trigger.waitingFor)] as const] : []),
            ...(trigger.error !== null ? [['fault', errorText(trigger.error)] as const] : []),
            ...(open === trigger.triggerId ? [['', <TriggerFacts trigger={trigger} />] as const] : []),
          ]}
        />
      )}
    </>
  );
}

const tokenColumn: Column<Trigger> = {
  head: 'Token',
  cell: ({ mint }) => (mint === null ? 'any' : <TokenLink mint={mint} {...nameOf(mint)} withMint />),
};

function Actions(props: { readonly trigger: Trigger; readonly isOpened: boolean; readonly onOpen: (id: string | null) => void }) {
  const { trigger, isOpened, onOpen } = props;
  const { triggerId } = trigger;
  return (
    <>
      {isOpen(trigger) && (
        <Button class="small" onClick={() => void cancelTriggers([trigger])}>
          Cancel<span class="hidden"> trigger {triggerId}</span>
        </Button>
      )}{' '}
      <Button class="small" aria-expanded={isOpened} onClick={() => onOpen(isOpened ? null : triggerId)}>
        {isOpened ? 'Less' : 'More'}
        <span class="hidden"> about trigger {triggerId}</span>
      </Button>
    </>
  );
}

function TriggerFacts({ trigger }: { readonly trigger: Trigger }) {
  const { triggerId, status, publicKey, slippage, createdAt, expiresAt, orderId, late } = trigger;
  return (
    <>
      <dl class="facts list">
        <Fact name="State">{statusText(status)}</Fact>
        <Fact name="Wallet">
          <WalletLink address={publicKey} />
        </Fact>
        {slippage !== null && <Fact name="Slippage at most">{`${slippage} %`}</Fact>}
        <Fact name="Armed">{dateTime(createdAt)}</Fact>
        <Fact name="Until">{expiresAt === null ? 'it is cancelled' : dateTime(expiresAt)}</Fact>
        <Fact name="Trigger">{triggerId}</Fact>
        {late && <Fact name="Late">Its condition was evaluated after an interruption.</Fact>}
      </dl>
      {orderId !== null && <TriggerOrder orderId={orderId} />}
    </>
  );
}

/** The order that a trigger has placed. */
function TriggerOrder({ orderId }: { readonly orderId: string }) {
  const { order, fault } = useOrder(orderId);
  return order === null ? <Reading fault={fault} isRead={false} /> : <OrderFacts order={order} />;
}
