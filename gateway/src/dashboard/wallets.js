'use strict';
/**
 * Wallets in this browser, by the Wallet Standard, and those that put themselves at window.solana. A wallet here is
 * `{name, icon, sign(input)}`, where `sign` gives `{publicKey, signedMessage, signature}` with bytes for the last two.
 */
globalThis.sluiceWallets = (() => {
  /** The most wallets listed, so that a wallet that registers itself again and again cannot fill the page. */
  const maxWallets = 24;
  const maxNameChars = 40;

  /** Calls `onChange` with all known wallets when another one appears. */
  function watch(onChange) {
    const wallets = [];
    const add = (wallet) => {
      if (wallet === null || wallets.length >= maxWallets || wallets.some((known) => known.name === wallet.name)) return;
      wallets.push(wallet);
      onChange(wallets);
    };
    const api = Object.freeze({
      register: (...found) => {
        for (const wallet of found) add(ofStandard(wallet));
        return () => undefined;
      },
    });
    addEventListener('wallet-standard:register-wallet', ({ detail }) => detail(api));
    dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }));
    const addInjected = () => {
      if (wallets.length === 0) add(ofInjected(globalThis.phantom?.solana ?? globalThis.solana));
    };
    if (document.readyState === 'complete') addInjected();
    else addEventListener('load', addInjected);
  }

  /** Null: the wallet can neither sign in nor sign a message on Solana. */
  function ofStandard({ name, icon, features, accounts }) {
    const signIn = features['solana:signIn'];
    const connect = features['standard:connect'];
    const signMessage = features['solana:signMessage'];
    const shown = { name: String(name).slice(0, maxNameChars), icon };
    if (signIn !== undefined) {
      return {
        ...shown,
        sign: async (input) => {
          const [output] = await signIn.signIn(input);
          const { account, signedMessage, signature } = output;
          return { publicKey: account.address, signedMessage, signature };
        },
      };
    }
    if (connect === undefined || signMessage === undefined) return null;
    return {
      ...shown,
      sign: async (input) => {
        const connected = await connect.connect();
        const [account] = [...(connected?.accounts ?? accounts)].filter(({ chains }) =>
          chains.some((chain) => chain.startsWith('solana:')),
        );
        if (account === undefined) throw new Error('it gave no account');
        const message = new TextEncoder().encode(signInText(input, account.address));
        const [output] = await signMessage.signMessage({ account, message });
        return { publicKey: account.address, signedMessage: output.signedMessage, signature: output.signature };
      },
    };
  }

  function ofInjected(provider) {
    if (typeof provider?.connect !== 'function' || typeof provider.signMessage !== 'function') return null;
    return {
      name: provider.isPhantom ? 'Phantom' : 'Solana wallet',
      icon: null,
      sign: async (input) => {
        if (typeof provider.signIn === 'function') {
          const { address, signedMessage, signature } = await provider.signIn(input);
          return { publicKey: address.toString(), signedMessage, signature };
        }
        const connected = await provider.connect();
        const publicKey = (connected?.publicKey ?? provider.publicKey).toString();
        const signedMessage = new TextEncoder().encode(signInText(input, publicKey));
        const { signature } = await provider.signMessage(signedMessage, 'utf8');
        return { publicKey, signedMessage, signature };
      },
    };
  }

  /** The text that a wallet with `solana:signIn` generates itself. */
  function signInText({ domain, statement, uri, version, nonce, issuedAt, expirationTime }, address) {
    return [
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
    ].join('\n');
  }

  return Object.freeze({ watch });
})();
