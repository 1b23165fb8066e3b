import { useState } from 'preact/hooks';
import { dateText } from '../format/text.ts';
import { DocsLink } from '../parts/links.tsx';
import { Copy, Dialog, Empty, Fault } from '../parts/parts.tsx';
import { useStore } from '../state/store.ts';
import { me, simulated } from '../state/server.ts';
import { ModeBadge } from '../orders/mode.tsx';
import { Holdings } from './holdings.tsx';
import { useOwnWallets, type OwnWallet } from './own-wallets.ts';
import { NewPaperWallet, PaperBalance } from './paper.tsx';
import { QrCode } from './qr.tsx';

/** Wallets whose holdings are read and shown at once. */
const shownAtOnce = 5;

export function WalletsPage() {
  const isPaper = useStore(me)?.trading === 'paper';
  const { value: wallets, fault, reload } = useOwnWallets();
  const [shown, setShown] = useState(shownAtOnce);
  return (
    <>
      <div class="page-head">
        <h1>Wallets</h1>
        <ModeBadge />
        <DocsLink page="http-portfolio" about="portfolios" />
      </div>
      <Fault text={fault} />
      {isPaper && <NewPaperWallet onMade={reload} />}
      {wallets === null && fault === null && <Empty>Loading …</Empty>}
      {wallets !== null && wallets.length === 0 && !isPaper && (
        <section class="card">
          <Empty>
            Your account has no wallet on this server. The operator makes or imports one: <code>sluice wallets create</code>.
          </Empty>
        </section>
      )}
      {(wallets ?? []).slice(0, shown).map((wallet) => (
        <WalletCard key={wallet.publicKey} wallet={wallet} isPaper={isPaper} />
      ))}
      {wallets !== null && wallets.length > shown && (
        <button type="button" onClick={() => setShown(shown + shownAtOnce)}>
          More wallets ({wallets.length - shown})
        </button>
      )}
    </>
  );
}

function WalletCard({ wallet, isPaper }: { readonly wallet: OwnWallet; readonly isPaper: boolean }) {
  const [open, setOpen] = useState<'deposit' | 'export' | 'balance' | null>(null);
  const [sets, setSets] = useState(0);
  const close = (): void => setOpen(null);
  const { publicKey, label, imported, createdAtMs } = wallet;
  return (
    <section class="card wallet" aria-label={`Wallet ${publicKey}`}>
      <div class="row between">
        <div>
          <h2>{label ?? 'Wallet'}</h2>
          <p class="faint">
            <code class="whole">{publicKey}</code>
          </p>
          <p class="faint">
            {imported ? 'imported' : 'made here'}, {dateText(createdAtMs)}
          </p>
        </div>
        <div class="row">
          <Copy text={publicKey} name="Copy address" />
          {(isPaper ? (['balance'] as const) : (['deposit', 'export'] as const)).map((name) => (
            <button key={name} type="button" class="small" onClick={() => setOpen(name)}>
              {actions[name]}
            </button>
          ))}
        </div>
      </div>
      <Holdings publicKey={publicKey} sets={sets} />
      {open === 'deposit' && <Deposit publicKey={publicKey} onClose={close} />}
      {open === 'export' && <Export publicKey={publicKey} onClose={close} />}
      {open === 'balance' && <PaperBalance publicKey={publicKey} onClose={close} onSet={() => setSets(sets + 1)} />}
    </section>
  );
}

const actions = { deposit: 'Deposit', export: 'Export', balance: 'Set balance' } as const;

function Deposit({ publicKey, onClose }: { readonly publicKey: string; readonly onClose: () => void }) {
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
function Export({ publicKey, onClose }: { readonly publicKey: string; readonly onClose: () => void }) {
  const [isSure, setSure] = useState(false);
  const command = `npx -y pnpm@12 sluice wallets export ${publicKey} wallet.json`;
  return (
    <Dialog title="Export" onClose={onClose}>
      <p>
        Anybody with the secret key can spend the coins of this wallet, without the limits of sluice. The secret key never leaves the server
        through a page or an API, so that nobody who takes over this page can take the coins. A command on the server writes it to a file.
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
