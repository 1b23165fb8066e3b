import { ownerOf } from '../../../order-model/order.ts';
import { isEnded, triggerStates } from '../../../trigger-model/trigger.ts';
import type { StoredTrigger, TriggerChange, TriggerProgress, TriggerTerms } from '../../../trigger-model/trigger.ts';
import { flag, integer, json, nullable, oneOf, Table, text, type Column } from '../../columns.ts';
import type { SqlRow, SqlValue } from '../../database.ts';

/** Maximum number of rows that one call reads, even if its `limit` is higher. */
export const maxTriggerRows = 1_000;

/** As text, because the databases do not share a type with 64 bits. */
const decimal: Column<number> = { read: (stored) => Number(text.read(stored)), write: String };

/** Without the watermark, which changes more often and has a column of its own. */
const progressColumn: Column<Omit<TriggerProgress, 'watermark'>> = {
  ...json<Omit<TriggerProgress, 'watermark'>>(),
  write: (progress) => JSON.stringify({ ...progress, watermark: undefined }),
};

const triggers = new Table<Omit<StoredTrigger, 'error' | 'progress'>>('triggers', {
  id: text,
  keyId: text,
  accountId: nullable(text),
  genesisHash: nullable(text),
  paper: flag,
  state: oneOf(triggerStates),
  terms: json<TriggerTerms>(),
  parentId: nullable(text),
  orderId: nullable(text),
  waitingFor: nullable(text),
  late: flag,
  cancelAsked: flag,
  createdAtMs: integer,
  updatedAtMs: integer,
  version: integer,
});
const watermarkColumn = nullable(decimal);
const errors = new Table('triggers', {
  code: { ...text, name: 'error_code' },
  message: { ...text, name: 'error_message' },
  detailsJson: { ...text, name: 'error_details' },
});
const noError = { error_code: null, error_message: null, error_details: null };

export function readTrigger(row: SqlRow): StoredTrigger {
  const progress = progressColumn.read(row['progress'])!;
  return {
    ...triggers.read(row),
    progress: { ...progress, watermark: watermarkColumn.read(row['watermark']) ?? null },
    error: row['error_code'] === null ? null : errors.read(row),
  };
}

/** The values of a new row. */
export function triggerValues(trigger: StoredTrigger): Readonly<Record<string, SqlValue>> {
  const { progress, error, ...rest } = trigger;
  const { order } = trigger.terms;
  return {
    ...triggers.write(rest),
    ...changedValues({ state: trigger.state, progress, error }),
    owner: ownerOf(trigger),
    mint: order.mint,
    public_key: order.publicKey,
    watermark: watermarkColumn.write(progress.watermark),
  };
}

export function changedValues({ progress, error, ...change }: TriggerChange): Readonly<Record<string, SqlValue>> {
  return {
    ...triggers.write(change),
    ...(change.state !== undefined && { ended: Number(isEnded(change.state)) }),
    ...(progress !== undefined && { progress: progressColumn.write(progress) }),
    ...(error !== undefined && (error === null ? noError : errors.write(error))),
  };
}
