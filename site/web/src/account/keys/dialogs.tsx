import { useEffect, useRef } from 'preact/hooks';
import { DialogForm, LabelField, textIn } from '../../parts/dialog-form.tsx';
import { ask } from '../../state/server.ts';
import { Copy, Dialog, Field, Select } from '../../parts/parts.tsx';
import { nameOfKey, type ListedKey } from './listed-key.ts';

const daySeconds = 86_400;
const limitNames = [
  ['requestsPerMinute', 'Requests a minute'],
  ['burst', 'Burst'],
  ['connections', 'Connections'],
  ['subscriptions', 'Subscriptions'],
  ['commandsPerSecond', 'Commands a second'],
] as const;
const overlaps = [
  [0, 'no time: it ends at once'],
  [3_600, 'an hour'],
  [86_400, 'a day'],
  [604_800, 'seven days'],
] as const;
const lives = [
  ['', 'never'],
  [7, 'in 7 days'],
  [30, 'in 30 days'],
  [365, 'in a year'],
] as const;
const plans = ['standard', 'premium', 'enterprise'].map((plan) => [plan, plan] as const);

function newKeyBody(fields: FormData): object {
  const text = (name: string): string => textIn(fields, name);
  const limits = Object.fromEntries(limitNames.flatMap(([name]) => (text(name) === '' ? [] : [[name, Number(text(name))]])));
  return {
    label: text('label') === '' ? null : text('label'),
    scopes: fields.getAll('scope'),
    ipRanges: text('ipRanges')
      .split(/[\s,]+/)
      .filter((range) => range !== ''),
    lifeSeconds: text('expires') === '' ? null : Number(text('expires')) * daySeconds,
    ...(fields.has('plan') && { plan: fields.get('plan') }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

export function NewKey({ isOperator, onClose, onMade }: { isOperator: boolean; onClose: () => void; onMade: (secret: string) => void }) {
  const scope = (name: string, text: string, isChecked: boolean) => (
    <label class="check">
      <input type="checkbox" name="scope" value={name} defaultChecked={isChecked} />
      {name}: {text}
    </label>
  );
  return (
    <DialogForm
      title="Generate New Key"
      submit="Generate"
      onClose={onClose}
      work={async (fields) => {
        if (!fields.has('scope')) throw new Error('Choose at least one scope.');
        onMade((await ask<{ readonly key: string }>('keys', newKeyBody(fields))).key);
      }}
    >
      <LabelField title="Label" />
      <fieldset>
        <legend>Scopes</legend>
        {scope('stream', 'live events', true)}
        {scope('read', 'tokens, candles, portfolios, quotes', true)}
        {scope('trade', 'orders, which spend', false)}
      </fieldset>
      <label>
        <span>IP ranges</span>
        <textarea name="ipRanges" rows={2} placeholder="any address" />
      </label>
      <Select label="Expires" name="expires" options={lives} />
      {isOperator && (
        <fieldset>
          <legend>For the operator</legend>
          <Select label="Plan" name="plan" options={plans} />
          <div class="pair">
            {limitNames.map(([name, text]) => (
              <Field key={name} label={text} name={name} type="number" min="1" step="1" placeholder="of the plan" />
            ))}
          </div>
        </fieldset>
      )}
    </DialogForm>
  );
}

export function RotateKey({ of, onClose, onMade }: { of: ListedKey; onClose: () => void; onMade: (secret: string) => void }) {
  return (
    <DialogForm
      title="Rotate"
      submit="Rotate"
      onClose={onClose}
      work={async (fields) => {
        const overlapSeconds = Number(fields.get('overlap'));
        onMade((await ask<{ readonly key: string }>(`keys/${of.id}/rotate`, { overlapSeconds })).key);
      }}
    >
      <p>
        Gives <b>{nameOfKey(of)}</b> a new secret.
      </p>
      <Select label="The old one works on for" name="overlap" options={overlaps} />
    </DialogForm>
  );
}

export function DeleteKey({ of, onClose, onDone }: { of: ListedKey; onClose: () => void; onDone: () => void }) {
  return (
    <DialogForm title="Delete" submit="Delete" danger onClose={onClose} onDone={onDone} work={() => ask(`keys/${of.id}/delete`, {})}>
      <p>
        <b>{nameOfKey(of)}</b> stops working at once, and its streams are closed. This cannot be undone.
      </p>
    </DialogForm>
  );
}

/** Shows a key once. The page forgets it when the dialog closes, however it is closed. */
export function CreatedKey({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // A property and not an attribute, so that the key is in no markup.
    const input = field.current!;
    input.value = secret;
    input.select();
    return () => void (input.value = '');
  }, [secret]);
  return (
    <Dialog title="Your new key" onClose={onClose}>
      <p>Copy it now. The server stores only a hash of it and cannot show it again.</p>
      <label>
        <span>API key</span>
        <input ref={field} readOnly class="secret" spellcheck={false} autoComplete="off" />
      </label>
      <form method="dialog" class="row end">
        <Copy text={secret} />
        <button type="submit" class="primary">
          Done
        </button>
      </form>
    </Dialog>
  );
}
