import { useState } from 'preact/hooks';
import { ask, me, pageKey } from '../../state/server.ts';
import { whole } from '../../format/price.ts';
import { ago, dateText, dateTime } from '../../format/text.ts';
import { useLoaded, useNow } from '../../parts/hooks.ts';
import { DocsLink } from '../../parts/links.tsx';
import { AsOf, Button, Empty, Fault } from '../../parts/parts.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { useStore } from '../../state/store.ts';
import { DeleteKey, NewKey, RotateKey, CreatedKey } from './dialogs.tsx';
import { nameOfKey, type ListedKey } from './listed-key.ts';
import { Usage } from './usage.tsx';

const refreshMs = 5_000;

interface KeyList {
  readonly keys: readonly ListedKey[];
  readonly unlisted: number;
  readonly gateways: number;
}

type Open =
  | { readonly dialog: 'new' }
  | { readonly dialog: 'rotate' | 'delete'; readonly key: ListedKey }
  | { readonly dialog: 'shown'; readonly secret: string };

export function KeysPage() {
  const { value: list, fault, readAtMs, reload } = useLoaded(() => ask<KeyList>('keys'), 'keys', refreshMs);
  const [open, setOpen] = useState<Open | null>(null);
  const acting = useStore(pageKey);
  const active = list?.keys.filter(({ state }) => state === 'active') ?? [];
  const isOperator = useStore(me)?.account?.kind === 'operator';
  const close = (): void => setOpen(null);
  const show = (secret: string): void => {
    setOpen({ dialog: 'shown', secret });
    reload();
  };
  return (
    <>
      <div class="page-head">
        <h1>API Keys</h1>
        {list !== null && <AsOf readAtMs={readAtMs} />}
        <DocsLink page="authentication" about="API keys" />
        <Button class="primary" onClick={() => setOpen({ dialog: 'new' })}>
          Generate New Key
        </Button>
      </div>
      <Fault text={fault} />
      {active.length > 0 && <Usage keys={active} own={acting} gateways={list?.gateways ?? 1} />}
      <section class="card" id="keys" aria-label="Keys">
        {isOperator && <p class="faint">You are the operator and see the keys of all accounts.</p>}
        {list?.keys.length === 0 && <Empty>No keys yet.</Empty>}
        {list !== null && list.keys.length > 0 && <KeyTable keys={list.keys} onOpen={(dialog, key) => setOpen({ dialog, key })} />}
        {list !== null && list.unlisted > 0 && (
          <p class="faint">{list.unlisted} older keys are not listed here: sluice keys list shows all.</p>
        )}
      </section>
      {open?.dialog === 'new' && <NewKey isOperator={isOperator} onClose={close} onMade={show} />}
      {open?.dialog === 'rotate' && <RotateKey of={open.key} onClose={close} onMade={show} />}
      {open?.dialog === 'delete' && <DeleteKey of={open.key} onClose={close} onDone={() => (close(), reload())} />}
      {open?.dialog === 'shown' && <CreatedKey secret={open.secret} onClose={close} />}
    </>
  );
}

interface TableProps {
  readonly keys: readonly ListedKey[];
  readonly onOpen: (dialog: 'rotate' | 'delete', key: ListedKey) => void;
}

function KeyTable({ keys, onOpen }: TableProps) {
  const now = useNow(10_000);
  const acting = useStore(pageKey);
  const columns: readonly Column<ListedKey>[] = [
    { head: 'Key', second: 'State', cell: ({ prefix }) => <code>{prefix}_…</code> },
    {
      head: 'Label',
      class: 'label',
      cell: ({ id, label }) => (
        <>
          {label ?? '–'}
          {id === acting && (
            <span class="badge" title="This page acts with the scopes and limits of this key">
              this page
            </span>
          )}
        </>
      ),
    },
    { head: 'Plan', class: 'wide-only', cell: ({ plan }) => plan },
    {
      head: 'Scopes',
      class: 'wide-only',
      title: ({ ipRanges }) => (ipRanges.length === 0 ? '' : `from ${ipRanges.join(', ')}`),
      cell: ({ scopes }) => scopes.join(', '),
    },
    {
      head: 'Created',
      class: 'wide-only faint',
      title: ({ createdAtMs }) => dateTime(createdAtMs),
      cell: ({ createdAtMs }) => dateText(createdAtMs),
    },
    { head: 'Last use', class: 'wide-only faint', cell: ({ lastUsedAtMs }) => ago(lastUsedAtMs, now) },
    {
      head: 'This minute',
      class: 'wide-only number',
      title: () => 'Requests in this minute, and the limit of a minute',
      cell: ({ minutes, planLimits }) => `${whole(minutes?.accepted.at(-1) ?? 0)} / ${whole(planLimits.requestsPerMinute)}`,
    },
    { head: 'State', class: 'wide-only', cell: (key) => <span class={key.state === 'active' ? 'buy' : 'faint'}>{stateText(key)}</span> },
    {
      head: <span class="hidden">Actions</span>,
      cell: (key) => (
        <div class="row end">
          {key.state === 'active' && (
            <Button class="small" aria-label={`Rotate ${nameOfKey(key)}`} onClick={() => onOpen('rotate', key)}>
              Rotate
            </Button>
          )}
          <Button class="small" aria-label={`Delete ${nameOfKey(key)}`} onClick={() => onOpen('delete', key)}>
            Delete
          </Button>
        </div>
      ),
    },
  ];
  return <Table columns={columns} rows={keys} keyOf={({ id }) => id} />;
}

function stateText({ state, secrets, expiresAtMs }: ListedKey): string {
  if (state !== 'active') return state;
  const ends = secrets.slice(0, -1).flatMap(({ endsAtMs }) => (endsAtMs === null ? [] : [endsAtMs]));
  if (ends.length > 0) return `active; the old one until ${dateTime(Math.max(...ends))}`;
  return expiresAtMs === null ? state : `active until ${dateText(expiresAtMs)}`;
}
