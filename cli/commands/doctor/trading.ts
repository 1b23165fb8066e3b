import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { listWallets, readPassphraseFile, unlockKeystore } from '@sluice/trading/signer/custody/keystore.ts';
import { keystoreName, passphraseFileOf } from '@sluice/trading/signer/custody/passphrase.ts';
import { checkAuditLogs } from '@sluice/trading/signer/audit/report.ts';
import { filesFault } from '@sluice/trading/signer/files/own-files.ts';
import { signerFolder } from '@sluice/gateway/store/halt/halt-mark.ts';
import type { StoredHalt } from '@sluice/gateway/store/sql/tables/operation/halt.ts';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { Config } from '@sluice/shared/config/config.ts';
import { toUi } from '@sluice/shared/solana/encoding/amounts.ts';
import { solDecimals } from '@sluice/shared/solana/well-known.ts';
import { isoTime } from '../../command-line/terminal.ts';
import { withStore } from '../store/with-store.ts';
import { fail, ok, reason, warn, type Finding } from './finding.ts';

/** Checks whether orders would be accepted and signed. It writes nothing and starts no process. */
export async function checkTrading(config: Config): Promise<readonly Finding[]> {
  const mode = modeOf(config);
  const isThere = config.databaseUrl !== null || existsSync(join(config.dataDir, 'sluice.db'));
  if (!isThere) return [ok('trading', mode)];
  try {
    return await withStore(config, async (store) => [
      tradingFinding(mode, await store.halt.read()),
      ...(config.trading === 'live' ? [await checkSigner(config, store)] : []),
    ]);
  } catch (error) {
    return [fail('trading', `it is unknown whether trading is halted: ${reason(error)}`)];
  }
}

function modeOf({ trading, signerLimits: { maxOrderLamports, maxDayLamports } }: Config): string {
  if (trading === 'off') return 'off: orders are refused';
  if (trading === 'paper') return 'paper: nothing is signed or sent';
  const [order, day] = [toUi(maxOrderLamports, solDecimals), toUi(maxDayLamports, solDecimals)];
  return `live: a custodial wallet spends at most ${order} SOL in one order and ${day} SOL per day`;
}

function tradingFinding(mode: string, { halted, reason: why, changedAtMs }: StoredHalt): Finding {
  if (!halted) return ok('trading', mode);
  return warn('trading', `halted since ${isoTime(changedAtMs)}${why === null ? '' : ` (${why})`}; end it with \`sluice trading resume\``);
}

/** Does the same checks as the signing process at its start: it unlocks the keystore and checks the audit logs. */
async function checkSigner(config: Config, store: Store): Promise<Finding> {
  const name = keystoreName(config);
  const keystore = await store.wallets.keystore(name);
  if (keystore === null) return ok('signer', 'there is no custodial wallet yet');
  const file = passphraseFileOf(config);
  if (config.signerSocket !== null && config.keystorePassphraseFile === null) return checkSocket(config.signerSocket);
  // `checkPassphrase` reports the reason.
  if (file === null) return fail('signer', 'it cannot start without a passphrase');
  try {
    const unsafe = filesFault({ program: null, passphraseFile: file, dataDir: config.dataDir, auditFolder: signerFolder(config) });
    if (unsafe !== null) return fail('signer', unsafe);
    const passphrase = readPassphraseFile(file);
    const key = passphrase === null ? null : await unlockKeystore(name, keystore, passphrase);
    if (key === null) return fail('signer', 'the passphrase does not unlock the keystore');
    const damaged = (await checkAuditLogs(store, { folder: signerFolder(config), keystore: name, keystoreKey: key })).filter(
      ({ fault }) => fault !== null,
    );
    if (damaged.length > 0) return fail('signer', damaged.map((log) => `audit log ${basename(log.file)}: ${log.fault}`).join('; '));
    const { length } = await listWallets(store, name);
    return ok('signer', `the keystore unlocks, ${length} ${length === 1 ? 'wallet' : 'wallets'}; the audit logs are complete`);
  } catch (error) {
    return fail('signer', reason(error));
  }
}

/** Only the user of the signing process can check its audit logs, so they are not checked here. */
async function checkSocket(path: string): Promise<Finding> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return ok(
      'signer',
      `a signing process of another user listens at ${path}. Check its audit logs as that user: \`sluice wallets audit\``,
    );
  } catch (error) {
    return fail('signer', `no process listens at SIGNER_SOCKET, or this user may not connect: ${reason(error)}`);
  } finally {
    socket.destroy();
  }
}
