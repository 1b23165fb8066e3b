import { useState } from 'preact/hooks';
import { note } from '../../app/sign-in.tsx';
import { many } from '../../format/price.ts';
import { shortAddress } from '../../format/text.ts';
import { DialogForm } from '../../parts/dialog-form.tsx';
import { Button, Select } from '../../parts/parts.tsx';
import { shownSymbol } from '../../parts/token-name.tsx';
import { sluice } from '../../state/server.ts';
import { nameOf } from '../../state/metadata/names.ts';
import type { Trigger } from './trigger.ts';
import { triggersVersion } from './use-triggers.ts';
import { isOpen } from './words.ts';

/** Cancels all triggers, or those of a token or a wallet, also those that the page does not list. */
export function CancelAll({ triggers }: { readonly triggers: readonly Trigger[] }) {
  const [isAsking, setAsking] = useState(false);
  const [mint, setMint] = useState('');
  const [publicKey, setWallet] = useState('');
  const open = triggers.filter(isOpen);
  if (open.length === 0) return null;
  const mints = [...new Set(open.flatMap((trigger) => trigger.mint ?? []))];
  const wallets = [...new Set(open.map((trigger) => trigger.publicKey))];
  const cancel = async (): Promise<void> => {
    const { cancelled, firing } = await sluice.triggers.cancelAll({ ...(mint !== '' && { mint }), ...(publicKey !== '' && { publicKey }) });
    const rest = firing === 0 ? '' : ` ${many(firing, 'trigger')} fired at that moment, and will place no further order.`;
    note.set({ text: `${many(cancelled, 'trigger')} cancelled.${rest}`, kind: 'plain' });
  };
  const done = (): void => {
    setAsking(false);
    triggersVersion.set(triggersVersion.value + 1);
  };
  return (
    <>
      <Button class="small" onClick={() => setAsking(true)}>
        Cancel all …
      </Button>
      {isAsking && (
        <DialogForm title="Cancel triggers" submit="Cancel them" danger onClose={() => setAsking(false)} work={cancel} onDone={done}>
          <Select
            label="Of the token"
            value={mint}
            onChange={setMint}
            options={[
              ['', 'All tokens'],
              ...mints.map((one) => [one, `${shownSymbol({ mint: one, ...nameOf(one) })} ${shortAddress(one)}`] as const),
            ]}
          />
          <Select
            label="Of the wallet"
            value={publicKey}
            onChange={setWallet}
            options={[['', 'All wallets'], ...wallets.map((one) => [one, shortAddress(one)] as const)]}
          />
          <p class="hint">They place no order any more. An order that is on its way is not stopped.</p>
        </DialogForm>
      )}
    </>
  );
}
