import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKeystore, unlockKeystore, type Keystore } from '@sluice/trading/signer/custody/keystore.ts';
import { randomPassphraseCost } from '@sluice/trading/signer/custody/seal.ts';
import { SigningProcess, type SignerOptions } from '@sluice/trading/signer/client/client.ts';
import { checkAuditLogs, type AuditReport } from '@sluice/trading/signer/audit/report.ts';
import { signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import { Halt } from '@sluice/gateway/store/halt/halt.ts';
import { openEmbeddedStore } from '../support/keys.ts';
import { silentLog } from './silent-log.ts';

export const passphrase = 'a passphrase that is in no log';
export { silentLog };

/** The check of all audit logs of the folder, as in `sluice wallets audit`. */
export async function auditReports({ store }: Pick<SignerPlace, 'store'>): Promise<readonly AuditReport[]> {
  const stored = await store.wallets.keystore('cluster');
  const keystoreKey = stored === null ? null : await unlockKeystore('cluster', stored, passphrase);
  if (keystoreKey === null) throw new Error('the keystore does not open');
  return checkAuditLogs(store, { folder: signerFolder(store), keystore: 'cluster', keystoreKey });
}

/** A data folder with a store, a passphrase file, and signing processes on it. `end` ends everything. */
export interface SignerPlace {
  readonly dataDir: string;
  readonly store: Store;
  readonly passphraseFile: string;
  keystore(): Promise<Keystore>;
  /** Creates a wallet and returns its address. */
  wallet(): Promise<string>;
  signer(options?: Partial<SignerOptions>): SigningProcess;
  end(): Promise<void>;
}

export async function newSignerPlace(): Promise<SignerPlace> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-signer-'));
  const store = await openEmbeddedStore(dataDir);
  const passphraseFile = join(dataDir, 'passphrase');
  writeFileSync(passphraseFile, `${passphrase}\n`, { mode: 0o600 });
  const closers: (() => Promise<void> | void)[] = [];
  let opened: Promise<Keystore> | null = null;
  const keystore = (): Promise<Keystore> =>
    (opened ??= openKeystore(store, 'cluster', passphrase, randomPassphraseCost).then((outcome) => {
      if (!outcome.ok) throw new Error(outcome.reason);
      return outcome.keystore;
    }));
  return {
    dataDir,
    store,
    passphraseFile,
    keystore,
    wallet: async () => {
      const made = await (await keystore()).create(null);
      if (made === null) throw new Error('no wallet was created');
      return made.publicKey;
    },
    signer: (options = {}) => {
      const halt = new Halt(store, silentLog);
      const limits = { maxOrderLamports: 10_000_000_000n, maxDayLamports: 100_000_000_000n };
      const signer = new SigningProcess({ store, keystore: 'cluster', passphraseFile, limits, halt, log: silentLog, ...options });
      closers.push(async () => {
        await signer.close();
        halt.close();
      });
      return signer;
    },
    end: async () => {
      for (const close of closers) await close();
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
