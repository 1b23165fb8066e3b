import { useState } from 'preact/hooks';
import { ask, me, pageKey } from '../../state/server.ts';
import { whole } from '../../format/price.ts';
import { ago, dateText, dateTime } from '../../format/text.ts';
import { useLoaded, useNow } from '../../parts/hooks.ts';
import { DocsLink } from '../../parts/links.tsx';
import { AsOf, Empty, Fault } from '../../parts/parts.tsx';
import { useStore } from '../../state/store.ts';
import { DeleteKey, NewKey, RotateKey, CreatedKey } from './dialogs.tsx';
import { nameOfKey, type ListedKey } from './listed-key.ts';
import { Usage } from './usage.tsx';

/** How often the visible list is read again. */
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
        <button type="button" class="primary" onClick={() => setOpen({ dialog: 'new' })}>
          Generate New Key
        </button>
      </div>
      <Fault text={fault} />
      {active.length > 0 && <Usage keys={active} own={acting} gateways={list?.gateways ?? 1} />}
      <section class="card" id="keys" aria-label="Keys">
        {isOperator && <p class="faint">You are the operator and see the keys of all accounts.</p>}
        {list !== null && list.keys.length === 0 && <Empty>No keys yet.</Empty>}
        {list !== null && list.keys.length > 0 && (
          <KeyTable
            keys={list.keys}
            onRotate={(key) => setOpen({ dialog: 'rotate', key })}
            onDelete={(key) => setOpen({ dialog: 'delete', key })}
          />
        )}
        {list !== null && list.unlisted > 0 && (
          <p class="faint">{list.unlisted} older keys are not listed here: sluice keys list shows all.</p>
        )}
      </section>
      {open?.dialog === 'new' && <NewKey isOperator={isOperator} onClose={close} onMade={show} />}
      {open?.dialog === 'rotate' && <RotateKey of={open.key} onClose={close} onMade={show} />}
      {open?.dialog === 'delete' && <DeleteKey of={open.key} onClose={close} onDone={reload} />}
      {open?.dialog === 'shown' && <CreatedKey secret={open.secret} onClose={close} />}
    </>
  );
}

interface TableProps {
  readonly keys: readonly ListedKey[];
  readonly onRotate: (key: ListedKey) => void;
  readonly onDelete: (key: ListedKey) => void;
}

function KeyTable({ keys, onRotate, onDelete }: TableProps) {
  const now = useNow(10_000);
  const acting = useStore(pageKey);
  return (
    <table>
      <thead>
        <tr>
          <th>
            Key<span class="second-line">State</span>
          </th>
          <th>Label</th>
          <th class="wide-only">Plan</th>
          <th class="wide-only">Scopes</th>
          <th class="wide-only">Created</th>
          <th class="wide-only">Last use</th>
          <th class="wide-only number">This minute</th>
          <th class="wide-only">State</th>
          <th>
            <span class="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.id} data-id={key.id}>
            <td>
              <code>{key.prefix}_…</code>
              <span class="second-line">{stateText(key)}</span>
            </td>
            <td class="label">
              {key.label ?? '–'}
              {key.id === acting && (
                <span class="badge" title="This page acts with the scopes and limits of this key">
                  this page
                </span>
              )}
            </td>
            <td class="wide-only">{key.plan}</td>
            <td class="wide-only" title={key.ipRanges.length === 0 ? '' : `from ${key.ipRanges.join(', ')}`}>
              {key.scopes.join(', ')}
            </td>
            <td class="wide-only faint" title={dateTime(key.createdAtMs)}>
              {dateText(key.createdAtMs)}
            </td>
            <td class="wide-only faint">{ago(key.lastUsedAtMs, now)}</td>
            <td class="wide-only number" title="Requests in this minute, and the limit of a minute">
              {whole(key.minutes?.accepted.at(-1) ?? 0)} / {whole(key.planLimits.requestsPerMinute)}
            </td>
            <td class={`wide-only ${key.state === 'active' ? 'buy' : 'faint'}`}>{stateText(key)}</td>
            <td>
              <div class="row end">
                {key.state === 'active' && (
                  <button type="button" class="small" aria-label={`Rotate ${nameOfKey(key)}`} onClick={() => onRotate(key)}>
                    Rotate
                  </button>
                )}
                <button type="button" class="small" aria-label={`Delete ${nameOfKey(key)}`} onClick={() => onDelete(key)}>
                  Delete
                </button>
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function stateText({ state, secrets, expiresAtMs }: ListedKey): string {
  if (state !== 'active') return state;
  const ends = secrets.slice(0, -1).flatMap(({ endsAtMs }) => (endsAtMs === null ? [] : [endsAtMs]));
  if (ends.length > 0) return `active; the old one until ${dateTime(Math.max(...ends))}`;
  return expiresAtMs === null ? state : `active until ${dateText(expiresAtMs)}`;
}
