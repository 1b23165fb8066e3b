import { useState } from 'preact/hooks';
import { dateText, shortAddress } from '../../format/text.ts';
import { attempt, note } from '../../app/sign-in.tsx';
import { nameOfKey } from '../keys/listed-key.ts';
import { DocsLink } from '../../parts/links.tsx';
import { Button, Copy, Empty, Reading } from '../../parts/parts.tsx';
import { walletHref } from '../../state/router.ts';
import { useStore } from '../../state/store.ts';
import { ask, me } from '../../state/server.ts';
import { ModeBadge } from '../../parts/mode.tsx';
import { Holdings } from './holdings.tsx';
import {
  DefaultWallet,
  Deposit,
  Export,
  ImportWallet,
  NewPaperWallet,
  NewWallet,
  PaperBalance,
  paperStartSol,
  RenameWallet,
} from './dialogs.tsx';
import { useWalletList, type OwnWallet, type WalletList } from '../../parts/own-wallets.ts';

const shownAtOnce = 5;

export function WalletsPage() {
  const { value: list, fault, reload } = useWalletList();
  const isPaper = useStore(me)?.trading === 'paper';
  const [shown, setShown] = useState(shownAtOnce);
  const [open, setOpen] = useState<'create' | 'import' | 'paper' | null>(null);
  const close = (): void => setOpen(null);
  const changed = (): void => {
    close();
    reload();
  };
  const done = (publicKey: string, what: string): void => {
    changed();
    note.set({ text: `Wallet ${shortAddress(publicKey)} is ${what}.`, kind: 'plain' });
  };
  return (
    <>
      <div class="page-head">
        <h1>Wallets</h1>
        <ModeBadge />
        {!isPaper && <Button onClick={() => setOpen('create')}>Create wallet</Button>}
        {!isPaper && <Button onClick={() => setOpen('import')}>Import wallet</Button>}
        <DocsLink page="http-portfolio" about="portfolios" />
      </div>
      {!isPaper && (
        <p class="faint">
          There is no withdrawal: the signing process of this server signs trades, and nothing that moves coins out, so nobody who takes
          over this page can take the coins. To move coins elsewhere, export the wallet and open it in a wallet program.
        </p>
      )}
      {open === 'create' && <NewWallet onClose={close} onDone={(publicKey) => done(publicKey, 'created')} />}
      {open === 'import' && <ImportWallet onClose={close} onDone={(publicKey) => done(publicKey, 'imported')} />}
      {open === 'paper' && <NewPaperWallet onClose={close} onDone={changed} />}
      {isPaper && (
        <section class="card row between">
          <p class="faint">
            Paper wallets begin with {paperStartSol} SOL. Orders are filled from them at the prices of the market, with all fees. Nothing is
            sent.
          </p>
          <Button onClick={() => setOpen('paper')}>New paper wallet</Button>
        </section>
      )}
      <Reading fault={fault} isRead={list !== null} />
      {list?.wallets.length === 0 && !isPaper && (
        <section class="card">
          <Empty>Your account has no wallet on this server. Create one, or import one that you have.</Empty>
        </section>
      )}
      {(list?.wallets ?? []).slice(0, shown).map((wallet) => (
        <WalletCard key={wallet.publicKey} wallet={wallet} list={list!} isPaper={isPaper} onChange={reload} />
      ))}
      {list !== null && list.wallets.length > shown && (
        <Button onClick={() => setShown(shown + shownAtOnce)}>More wallets ({list.wallets.length - shown})</Button>
      )}
    </>
  );
}

interface CardProps {
  readonly wallet: OwnWallet;
  readonly list: WalletList;
  readonly isPaper: boolean;
  readonly onChange: () => void;
}

function WalletCard({ wallet, list, isPaper, onChange }: CardProps) {
  const [open, setOpen] = useState<'rename' | 'default' | 'deposit' | 'export' | 'balance' | null>(null);
  const [sets, setSets] = useState(0);
  const { publicKey, label, imported, createdAtMs } = wallet;
  const users = list.keys.filter(({ defaultWallet }) => defaultWallet === publicKey);
  const close = (): void => setOpen(null);
  const dialog = { publicKey, onClose: close };
  const changed = (): void => {
    close();
    onChange();
  };
  const fill = (): void =>
    void attempt(async () => {
      await ask(`wallets/${publicKey}/faucet`, {});
      note.set({ text: '10 SOL and 1,000 USDC, all simulated, are on their way. The balance shows them in a few seconds.', kind: 'plain' });
    });
  const button = (name: string, onClick: () => void) => (
    <Button class="small" onClick={onClick}>
      {name}
    </Button>
  );
  return (
    <section class="card wallet" aria-label={`Wallet ${publicKey}`}>
      <div class="row between">
        <div>
          <h2>{label ?? 'Wallet'}</h2>
          <p class="faint">
            <code class="whole">{publicKey}</code>
          </p>
          <p class="faint">
            {isPaper ? 'on paper' : imported ? 'imported' : 'made here'}, {dateText(createdAtMs)}
            {users.length > 0 && <>, default of {users.map(nameOfKey).join(', ')}</>}. <a href={walletHref(publicKey)}>Trades and orders</a>
          </p>
        </div>
        <div class="row">
          <Copy text={publicKey} name="Copy address" />
          {button('Rename', () => setOpen('rename'))}
          {list.keys.length > 0 && button('Default', () => setOpen('default'))}
          {list.hasFaucet && button('Faucet', fill)}
          {isPaper && button('Set balance', () => setOpen('balance'))}
          {!isPaper && button('Deposit', () => setOpen('deposit'))}
          {!isPaper && button('Export', () => setOpen('export'))}
        </div>
      </div>
      <Holdings publicKey={publicKey} isOwn sets={sets} />
      {open === 'rename' && <RenameWallet {...dialog} label={label} onDone={changed} />}
      {open === 'default' && <DefaultWallet {...dialog} keys={list.keys} onDone={changed} />}
      {open === 'deposit' && <Deposit {...dialog} />}
      {open === 'export' && <Export {...dialog} />}
      {open === 'balance' && <PaperBalance {...dialog} onDone={() => (close(), setSets(sets + 1))} />}
    </section>
  );
}
