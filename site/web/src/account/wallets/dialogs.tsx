import { useState } from 'preact/hooks';
import { nameOfKey } from '../keys/listed-key.ts';
import { DialogForm, LabelField, textIn } from '../../parts/dialog-form.tsx';
import { Copy, Dialog, Field, Select } from '../../parts/parts.tsx';
import { ask, simulated, sluice } from '../../state/server.ts';
import { useStore } from '../../state/store.ts';
import type { OwnWallet, WalletList } from '../../parts/own-wallets.ts';
import { QrCode } from './qr.tsx';

interface NewProps {
  readonly onClose: () => void;
  readonly onDone: (publicKey: string) => void;
}

export function NewWallet({ onClose, onDone }: NewProps) {
  return (
    <DialogForm
      title="Create wallet"
      submit="Create"
      onClose={onClose}
      work={async (fields) => onDone((await ask<{ readonly publicKey: string }>('wallets', { label: textIn(fields, 'label') })).publicKey)}
    >
      <p class="faint">
        The signing process of the server makes the secret key, and stores it encrypted. Only a command on the server can export it.
      </p>
      <LabelField title="Name" />
    </DialogForm>
  );
}

/**
 * The secret key is only in this field and in one request. The field is no password field, because browsers offer to store passwords; its text is
 * hidden by the style.
 */
export function ImportWallet({ onClose, onDone }: NewProps) {
  return (
    <DialogForm
      title="Import wallet"
      submit="Import"
      onClose={onClose}
      work={async (fields) => {
        const body = { secretKey: textIn(fields, 'secretKey'), label: textIn(fields, 'label') };
        onDone((await ask<{ readonly publicKey: string }>('wallets/import', body)).publicKey);
      }}
    >
      <p class="warn">
        This server can then trade with the coins of the wallet. Import only a wallet that you made for it, and only on a server that you
        trust.
      </p>
      <Field
        label="Secret key"
        name="secretKey"
        class="secret"
        type="text"
        required
        autoComplete="off"
        autoCapitalize="off"
        spellcheck={false}
        placeholder="base58, or the numbers of id.json"
      />
      <LabelField title="Name" />
    </DialogForm>
  );
}

interface ChangeProps {
  readonly publicKey: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function RenameWallet({ publicKey, label, onClose, onDone }: ChangeProps & Pick<OwnWallet, 'label'>) {
  return (
    <DialogForm
      title="Rename"
      submit="Rename"
      onClose={onClose}
      onDone={onDone}
      work={(fields) => ask(`wallets/${publicKey}/label`, { label: textIn(fields, 'label') })}
    >
      <LabelField title="Name" value={label ?? ''} />
    </DialogForm>
  );
}

export function DefaultWallet({ publicKey, keys, onClose, onDone }: ChangeProps & Pick<WalletList, 'keys'>) {
  return (
    <DialogForm
      title="Default wallet"
      submit="Make default"
      onClose={onClose}
      onDone={onDone}
      work={(fields) => ask(`wallets/${publicKey}/default`, { keyId: textIn(fields, 'keyId') })}
    >
      <p class="faint">
        An order at <code>/api/trade</code> that names no wallet uses the default wallet of its key. At first that is the oldest wallet of
        the account.
      </p>
      <Select
        label="API key"
        name="keyId"
        options={keys.map((key) => [key.id, `${nameOfKey(key)}${key.defaultWallet === publicKey ? ' (is the default)' : ''}`] as const)}
      />
    </DialogForm>
  );
}

export function Deposit({ publicKey, onClose }: Omit<ChangeProps, 'onDone'>) {
  const isSimulated = useStore(simulated) === true;
  return (
    <Dialog title="Deposit" onClose={onClose}>
      {isSimulated && <p class="warn">The chain is simulated. Do not send real coins to this address.</p>}
      <QrCode text={`solana:${publicKey}`} label={`QR code of the address ${publicKey}`} />
      <p>
        <code class="whole">{publicKey}</code>
      </p>
      <p class="faint">Send SOL or tokens of the Solana chain only.</p>
      <form method="dialog" class="row">
        <Copy text={publicKey} name="Copy address" />
        <button type="submit" class="primary">
          Done
        </button>
      </form>
    </Dialog>
  );
}

/** No HTTP interface gives a secret key. The export is a command on the server, which this dialog shows after a second confirmation. */
export function Export({ publicKey, onClose }: Omit<ChangeProps, 'onDone'>) {
  const [isSure, setSure] = useState(false);
  const command = `npx -y pnpm@12 sluice wallets export ${publicKey} wallet.json`;
  return (
    <Dialog title="Export" onClose={onClose}>
      <p>
        This is the way out for coins: there is no withdrawal, because the signing process signs only trades. Anybody with the secret key
        can spend the coins of this wallet, without the limits of sluice. The secret key never leaves the server through a page or an API,
        so that nobody who takes over this page can take the coins. A command on the server writes it to a file.
      </p>
      {isSure ? (
        <p>
          Run this on the server, in the folder of sluice: <code class="whole">{command}</code> <Copy text={command} /> If you installed a
          release, leave out <code>npx -y pnpm@12</code>.
        </p>
      ) : (
        <label class="check">
          <input type="checkbox" checked={isSure} onChange={() => setSure(true)} />I understand that the file gives access to all coins of
          this wallet
        </label>
      )}
      <form method="dialog" class="row">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}

export const paperStartSol = 10;
const maxPaperSol = 1_000_000;

const solOf = (fields: FormData): number => Number(textIn(fields, 'sol'));

function SolField() {
  return <Field label="SOL" name="sol" type="number" min={0} max={maxPaperSol} step="any" defaultValue={String(paperStartSol)} required />;
}

export function NewPaperWallet({ onClose, onDone }: Omit<ChangeProps, 'publicKey'>) {
  return (
    <DialogForm
      title="New paper wallet"
      submit="Make"
      onClose={onClose}
      onDone={onDone}
      work={(fields) => {
        const label = textIn(fields, 'label');
        return sluice.newPaperWallet({ amount: solOf(fields), ...(label !== '' && { label }) });
      }}
    >
      <LabelField title="Label" />
      <SolField />
    </DialogForm>
  );
}

export function PaperBalance({ publicKey, onClose, onDone }: ChangeProps) {
  return (
    <DialogForm
      title="Paper balance"
      submit="Set"
      onClose={onClose}
      onDone={onDone}
      work={(fields) => sluice.setPaperBalance({ publicKey, amount: solOf(fields), reset: fields.has('reset') })}
    >
      <SolField />
      <label class="check">
        <input type="checkbox" name="reset" />
        Begin again: the wallet also loses its tokens, and its result counts from now on
      </label>
    </DialogForm>
  );
}
