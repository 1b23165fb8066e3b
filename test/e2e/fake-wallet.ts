import type { Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import type { BrowserContext } from 'playwright-core';

export interface FakeWallet {
  readonly name: string;
  /** What it can do: sign in by itself, only sign messages, or be at `window.solana`, like wallets before the standard. */
  readonly kind: 'signIn' | 'signMessage' | 'injected';
  readonly keypair: Keypair;
}

interface Installed {
  readonly name: string;
  readonly kind: FakeWallet['kind'];
  readonly address: string;
  readonly publicKey: readonly number[];
  /** PKCS #8 (RFC 8410) */
  readonly privateKey: readonly number[];
}

/** Adds a wallet to every page of the browser, as an extension does. It signs in the page, with WebCrypto. */
export async function installWallet(context: BrowserContext, { name, kind, keypair }: FakeWallet): Promise<void> {
  const privateKey = [...Buffer.from('302e020100300506032b657004220420', 'hex'), ...keypair.seed];
  const { publicKey: address, publicKeyBytes } = keypair;
  await context.addInitScript(inPage, { name, kind, address, publicKey: [...publicKeyBytes], privateKey });
}

/** Runs in the page, so it may use nothing else of this file. */
function inPage({ name, kind, address, publicKey, privateKey }: Installed): void {
  type Fields = Readonly<Record<string, string | undefined>>;
  const labels = [
    ['URI', 'uri'],
    ['Version', 'version'],
    ['Chain ID', 'chainId'],
    ['Nonce', 'nonce'],
    ['Issued At', 'issuedAt'],
    ['Expiration Time', 'expirationTime'],
  ] as const;
  const page = globalThis as unknown as EventTarget & Record<string, unknown>;
  const key = crypto.subtle.importKey('pkcs8', Uint8Array.from(privateKey), { name: 'Ed25519' }, false, ['sign']);
  const sign = async (message: Uint8Array<ArrayBuffer>): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.sign({ name: 'Ed25519' }, await key, message));
  const signIn = async (input: Fields): Promise<{ readonly signedMessage: Uint8Array; readonly signature: Uint8Array }> => {
    const fields = labels.filter(([, field]) => input[field] !== undefined).map(([label, field]) => `${label}: ${input[field]}`);
    const head = `${input['domain']} wants you to sign in with your Solana account:\n${address}`;
    const signedMessage = new TextEncoder().encode(`${head}\n\n${input['statement']}\n\n${fields.join('\n')}`);
    return { signedMessage, signature: await sign(signedMessage) };
  };
  if (kind === 'injected') {
    page['solana'] = {
      connect: async () => ({ publicKey: { toString: () => address } }),
      signMessage: async (message: Uint8Array<ArrayBuffer>) => ({ signature: await sign(message) }),
    };
    return;
  }
  const account = { address, publicKey: Uint8Array.from(publicKey), chains: ['solana:mainnet'], features: [] };
  const features =
    kind === 'signIn'
      ? { 'solana:signIn': { version: '1.0.0', signIn: async (input: Fields) => [{ account, ...(await signIn(input)) }] } }
      : {
          'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
          'solana:signMessage': {
            version: '1.1.0',
            signMessage: async ({ message }: { readonly message: Uint8Array<ArrayBuffer> }) => [
              { signedMessage: message, signature: await sign(message) },
            ],
          },
        };
  const icon = 'data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=';
  const wallet = { version: '1.0.0', name, icon, chains: ['solana:mainnet'], accounts: [], features };
  const register = (api: { readonly register: (one: unknown) => void }): void => api.register(wallet);
  page.addEventListener('wallet-standard:app-ready', (event) => register((event as CustomEvent).detail));
  page.dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
}
