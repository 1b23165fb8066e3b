import { useState } from 'preact/hooks';
import { DialogForm, LabelField, textIn } from '../../parts/dialog-form.tsx';
import { sluice } from '../../state/server.ts';

const startSol = 10;
const maxSol = 1_000_000;

/** What a paper wallet is, and how to make another one. */
export function NewPaperWallet({ onMade }: { readonly onMade: () => void }) {
  const [open, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <section class="card row between">
      <p class="faint">
        Paper wallets begin with {startSol} SOL. Orders are filled from them at the prices of the market, with all fees. Nothing is sent.
      </p>
      <button type="button" onClick={() => setOpen(true)}>
        New paper wallet
      </button>
      {open && (
        <DialogForm
          title="New paper wallet"
          submit="Make"
          onClose={close}
          work={async (fields) => {
            const label = textIn(fields, 'label');
            await sluice.newPaperWallet({ amount: solOf(fields), ...(label !== '' && { label }) });
            close();
            onMade();
          }}
        >
          <LabelField title="Label" />
          <SolField />
        </DialogForm>
      )}
    </section>
  );
}

/** Sets the balance of a paper wallet, or begins again. */
export function PaperBalance(props: { readonly publicKey: string; readonly onClose: () => void; readonly onSet: () => void }) {
  const { publicKey, onClose, onSet } = props;
  return (
    <DialogForm
      title="Paper balance"
      submit="Set"
      onClose={onClose}
      work={async (fields) => {
        await sluice.setPaperBalance({ publicKey, amount: solOf(fields), reset: fields.has('reset') });
        onClose();
        onSet();
      }}
    >
      <SolField />
      <label class="check">
        <input type="checkbox" name="reset" />
        Begin again: the wallet also loses its tokens, and its result counts from now on
      </label>
    </DialogForm>
  );
}

function SolField() {
  return (
    <label>
      <span>SOL</span>
      <input name="sol" type="number" min={0} max={maxSol} step="any" defaultValue={String(startSol)} required />
    </label>
  );
}

function solOf(fields: FormData): number {
  return Number(textIn(fields, 'sol'));
}
