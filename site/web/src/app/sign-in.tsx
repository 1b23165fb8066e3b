import { Store, useStore } from '../state/store.ts';
import { ask, faultText, me, readMe } from '../state/server.ts';
import { browserWallets, type BrowserWallet, type SignInInput } from './browser-wallets.ts';

const linkForm = /^#sign-in=([0-9A-Za-z_-]{16,256})$/;

export interface Note {
  readonly text: string;
  readonly kind: 'plain' | 'fault';
  /** Shown over the page, which does not move then; otherwise above it. */
  readonly isNear?: boolean;
  readonly action?: { readonly name: string; readonly run: () => void };
}
/** A message at the top of the page. */
export const note = new Store<Note | null>(null);

/** Runs `work`, and shows what went wrong at the top of the page. */
export async function attempt(work: () => Promise<void>): Promise<void> {
  try {
    note.set(null);
    await work();
  } catch (error) {
    note.set({ text: faultText(error), kind: 'fault' });
  }
}

/**
 * Signs in by a link. Its token is in the part after `#`, which is never sent to a server or logged. It is removed from the address bar before it is
 * used.
 */
export async function signInByLink(): Promise<void> {
  const token = linkForm.exec(location.hash)?.[1];
  if (token === undefined) return;
  history.replaceState(null, '', '#/live');
  const use = (): Promise<void> =>
    attempt(async () => {
      await ask('sign-in/link', { token });
      await readMe();
      note.set({ text: 'Signed in by the link, which is used up now.', kind: 'plain' });
    });
  if (me.value?.account === null) return use();
  // Ask first: otherwise a link that somebody sent could switch the browser to another account.
  note.set({ text: 'You are signed in already.', kind: 'plain', action: { name: 'Sign in by the link', run: () => void use() } });
}

async function signInWith(wallet: BrowserWallet): Promise<void> {
  const input = await ask<SignInInput>('sign-in/nonce', {});
  note.set({ text: `${wallet.name} asks you to sign …`, kind: 'plain' });
  const { publicKey, signedMessage, signature } = await wallet.sign(input);
  await ask('sign-in', { publicKey, signedMessage: base64(signedMessage), signature: base64(signature) });
  await readMe();
  note.set({ text: 'Signed in.', kind: 'plain' });
}

export function signOut(): void {
  void attempt(async () => {
    await ask('sign-out', {});
    await readMe();
    note.set({ text: 'Signed out.', kind: 'plain' });
  });
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)));
}

export function SignIn() {
  const wallets = useStore(browserWallets);
  const current = useStore(me);
  const isOpen = current?.signIn.open !== false;
  return (
    <section class="sign-in card">
      <h1>Watch and trade Solana's token market</h1>
      <p class="faint">
        {isOpen
          ? 'Sign in with a Solana wallet, or open the link of the operator. This costs nothing and sends no transaction.'
          : current?.signIn.why}
      </p>
      {isOpen && (
        <div class="row">
          {wallets.map((wallet) => (
            <button key={wallet.name} type="button" class="primary" onClick={() => void attempt(() => signInWith(wallet))}>
              {wallet.icon !== null && <img src={wallet.icon} alt="" width="18" height="18" />}
              Sign in with {wallet.name}
            </button>
          ))}
        </div>
      )}
      {isOpen && wallets.length === 0 && (
        <p>
          No Solana wallet found in this browser. On the machine of the server, <code>sluice accounts link</code> prints a link that opens
          this page signed in (in a clone of the project: <code>npx -y pnpm@12 sluice accounts link</code>).
        </p>
      )}
      <p class="faint">
        Without signing in you can read the <a href="/docs">documentation</a> and the <a href="#/status">status</a>.
      </p>
    </section>
  );
}
