import { Store } from '../state/store.ts';

/** The message that a wallet signs to sign in. */
export type SignInInput = Readonly<Record<'domain' | 'statement' | 'uri' | 'version' | 'nonce' | 'issuedAt' | 'expirationTime', string>>;
interface Signed {
  readonly publicKey: string;
  readonly signedMessage: Uint8Array;
  readonly signature: Uint8Array;
}
export interface BrowserWallet {
  readonly name: string;
  /** A `data:` address of an image, or null. */
  readonly icon: string | null;
  readonly sign: (input: SignInInput) => Promise<Signed>;
}

interface WalletAccount {
  readonly address: string;
  readonly chains: readonly string[];
}
interface StandardWallet {
  readonly name: string;
  readonly icon?: string;
  readonly accounts: readonly WalletAccount[];
  readonly features: {
    readonly 'solana:signIn'?: {
      signIn(input: SignInInput): Promise<readonly [Omit<Signed, 'publicKey'> & { readonly account: WalletAccount }]>;
    };
    readonly 'standard:connect'?: { connect(): Promise<{ readonly accounts?: readonly WalletAccount[] } | undefined> };
    readonly 'solana:signMessage'?: {
      signMessage(input: { account: WalletAccount; message: Uint8Array }): Promise<readonly [Omit<Signed, 'publicKey'>]>;
    };
  };
}
interface Text {
  toString(): string;
}
interface InjectedWallet {
  readonly isPhantom?: boolean;
  readonly publicKey?: Text;
  connect(): Promise<{ readonly publicKey?: Text } | undefined>;
  signMessage(message: Uint8Array, encoding: string): Promise<{ readonly signature: Uint8Array }>;
  signIn?(input: SignInInput): Promise<Omit<Signed, 'publicKey'> & { readonly address: Text }>;
}

/** Maximum number of wallets listed, so that a wallet that registers itself again and again cannot fill the page. */
const maxWallets = 24;
const maxNameChars = 40;

/** Wallets in this browser: by the Wallet Standard, and those that put themselves at `window.solana`. */
export const browserWallets = new Store<readonly BrowserWallet[]>([]);

function add(wallet: BrowserWallet | null): void {
  const known = browserWallets.value;
  if (wallet === null || known.length >= maxWallets || known.some(({ name }) => name === wallet.name)) return;
  browserWallets.set([...known, wallet]);
}

/** Null: the wallet can neither sign in nor sign a message on Solana. */
function ofStandard({ name, icon, features, accounts }: StandardWallet): BrowserWallet | null {
  const signIn = features['solana:signIn'];
  const connect = features['standard:connect'];
  const signMessage = features['solana:signMessage'];
  const isImage = typeof icon === 'string' && icon.startsWith('data:image/');
  const shown = { name: name.slice(0, maxNameChars), icon: isImage ? icon : null };
  if (signIn !== undefined) {
    const sign = async (input: SignInInput): Promise<Signed> => {
      const [{ account, signedMessage, signature }] = await signIn.signIn(input);
      return { publicKey: account.address, signedMessage, signature };
    };
    return { ...shown, sign };
  }
  if (connect === undefined || signMessage === undefined) return null;
  const sign = async (input: SignInInput): Promise<Signed> => {
    const connected = await connect.connect();
    const account = [...(connected?.accounts ?? accounts)].find(({ chains }) => chains.some((chain) => chain.startsWith('solana:')));
    if (account === undefined) throw new Error('The wallet gave no account.');
    const [output] = await signMessage.signMessage({ account, message: signInText(input, account.address) });
    return { publicKey: account.address, signedMessage: output.signedMessage, signature: output.signature };
  };
  return { ...shown, sign };
}

function ofInjected(provider: InjectedWallet | undefined): BrowserWallet | null {
  if (typeof provider?.connect !== 'function' || typeof provider.signMessage !== 'function') return null;
  const sign = async (input: SignInInput): Promise<Signed> => {
    if (typeof provider.signIn === 'function') {
      const { address, signedMessage, signature } = await provider.signIn(input);
      return { publicKey: address.toString(), signedMessage, signature };
    }
    const connected = await provider.connect();
    const publicKey = (connected?.publicKey ?? provider.publicKey)?.toString() ?? '';
    const signedMessage = signInText(input, publicKey);
    const { signature } = await provider.signMessage(signedMessage, 'utf8');
    return { publicKey, signedMessage, signature };
  };
  return { name: provider.isPhantom === true ? 'Phantom' : 'Solana wallet', icon: null, sign };
}

/** The text that a wallet with `solana:signIn` generates itself. */
function signInText({ domain, statement, uri, version, nonce, issuedAt, expirationTime }: SignInInput, address: string): Uint8Array {
  const lines = [
    `${domain} wants you to sign in with your Solana account:`,
    address,
    '',
    statement,
    '',
    `URI: ${uri}`,
    `Version: ${version}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    `Expiration Time: ${expirationTime}`,
  ];
  return new TextEncoder().encode(lines.join('\n'));
}

/** Finds wallets, now and when they register themselves. */
export function watchBrowserWallets(): void {
  const api = Object.freeze({
    register: (...found: StandardWallet[]) => {
      for (const wallet of found) add(ofStandard(wallet));
      return () => undefined;
    },
  });
  addEventListener('wallet-standard:register-wallet', (event) => (event as CustomEvent<(found: typeof api) => void>).detail(api));
  dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }));
  const addInjected = (): void => {
    const injected = globalThis as { phantom?: { solana?: InjectedWallet }; solana?: InjectedWallet };
    if (browserWallets.value.length === 0) add(ofInjected(injected.phantom?.solana ?? injected.solana));
  };
  if (document.readyState === 'complete') addInjected();
  else addEventListener('load', addInjected);
}
